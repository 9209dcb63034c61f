use resilience_runtime::Classify;
use std::time::Duration;

#[derive(Classify)]
enum Missing {
    #[classify(business)]
    Declined,
    Down,
    Late(u32),
}

#[derive(Classify)]
struct Unsaid;

#[derive(Classify)]
enum Wrong {
    #[classify(sever)]
    Misspelt,
    #[classify(success)]
    Success,
    #[classify]
    Empty,
    #[classify(business, server)]
    Two,
    #[classify(transparent)]
    Pair(u8, u8),
    #[classify(throttled(retry_after = after))]
    NoField { wait: Duration },
    #[classify(throttled(after))]
    NoKey(Duration),
    #[classify(with)]
    NoPath,
}

#[derive(Classify)]
#[classify(server)]
enum OnTheEnum {
    #[classify(server)]
    One,
}

#[derive(Classify)]
union Both {
    a: u8,
    b: i8,
}

#[derive(Classify)]
enum OnAField {
    #[classify(throttled)]
    TooMany(#[classify(retry_after)] Duration),
}

#[derive(Classify)]
struct Inner(#[classify(transparent)] std::io::Error);

fn main() {}
