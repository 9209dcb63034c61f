use super::*;

fn read(text: &str) -> Item {
    Item::read(&text.parse().expect("the test's own tokens"), "breaker")
}

fn function(text: &str) -> Box<Function> {
    match read(text) {
        Item::Function(function) => function,
        Item::Other(_, why) => panic!("{why}"),
    }
}

fn why(text: &str) -> String {
    match read(text) {
        Item::Function(_) => panic!("this is a function"),
        Item::Other(_, why) => why,
    }
}

#[test]
fn a_body_is_not_read() {
    let function = function("pub(crate) async fn f(a: u8) -> R { let n = a.; }");
    assert!(function.body.stream().to_string().starts_with("let n = a"));
}

#[test]
fn the_box_of_async_trait_is_known_by_its_type() {
    let text =
        "fn f<'a>(&'a self) -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Res<u8>> + Send + 'a>> {}";
    let function = function(text);
    assert!(function.boxed);
    assert_eq!(function.output.ty.to_string(), "Res < u8 >");
}

#[test]
fn opaque_parts_of_the_return_type_are_left_open() {
    let function = function("async fn f() -> Res<(impl Debug, Vec<impl Fn() -> u8>)> {}");
    assert!(function.output.opaque);
    assert_eq!(function.output.ty.to_string(), "Res < (_ , Vec < _ >) >");
}

#[test]
fn what_cannot_be_guarded_is_named() {
    assert_eq!(
        why("pub struct S;"),
        "`#[breaker]` goes on an `async fn`, and this is a struct"
    );
    assert_eq!(
        why("impl S {}"),
        "`#[breaker]` goes on an `async fn`, and this is an impl block: put it on the methods"
    );
    assert_eq!(
        why("const N: u8 = 1;"),
        "`#[breaker]` goes on an `async fn`, and this is a constant"
    );
    assert_eq!(
        why("const fn f() {}"),
        "`#[breaker]` goes on an `async fn`, and `f` is not async: write `async fn`"
    );
    assert!(why("async fn f(&self);").starts_with("`f` has no body to guard"));
}

#[test]
fn names_of_patterns_and_how_they_are_passed_are_known() {
    let function =
        function("async fn f(&mut self, (a, mut b): (u8, u8), _: u8, S { c, d: _ }: &S, e: &mut u8) -> R { b + e }");
    let names: Vec<_> = function
        .parameters
        .iter()
        .map(|parameter| parameter.names.len())
        .collect();
    let used: Vec<_> = function
        .parameters
        .iter()
        .map(|parameter| parameter.used.len())
        .collect();
    let passing: Vec<_> = function.parameters.iter().map(|parameter| parameter.passing).collect();
    assert_eq!((names, used), (vec![2, 0, 1, 1], vec![1, 0, 0, 1]));
    assert_eq!(
        passing,
        [Passing::Value, Passing::Value, Passing::Shared, Passing::Exclusive]
    );
    assert_eq!(
        function.receiver.map(|receiver| receiver.passing),
        Some(Passing::Exclusive)
    );
}

/// What a `macro_rules` fragment leaves: a group that nobody sees.
fn unseen(text: &str) -> TokenTree {
    TokenTree::Group(Group::new(
        Delimiter::None,
        text.parse().expect("the test's own tokens"),
    ))
}

/// The same item with each `$T` as a macro would have written it.
fn by_a_macro(text: &str, fragment: &str) -> TokenStream {
    fn fill(tokens: TokenStream, fragment: &TokenTree) -> TokenStream {
        let mut filled = TokenStream::new();
        let mut tokens = tokens.into_iter();
        while let Some(token) = tokens.next() {
            filled.extend([match token {
                TokenTree::Punct(sign) if sign.as_char() == '$' => {
                    tokens.next();
                    fragment.clone()
                }
                TokenTree::Group(group) => {
                    TokenTree::Group(Group::new(group.delimiter(), fill(group.stream(), fragment)))
                }
                token => token,
            }]);
        }
        filled
    }
    fill(text.parse().expect("the test's own tokens"), &unseen(fragment))
}

fn function_by_a_macro(text: &str, fragment: &str) -> Box<Function> {
    match Item::read(&by_a_macro(text, fragment), "breaker") {
        Item::Function(function) => function,
        Item::Other(_, why) => panic!("{why}"),
    }
}

#[test]
fn every_name_that_a_pattern_binds_is_known() {
    for (pattern, names) in [
        ("(a)", "a"),
        ("&a", "a"),
        ("Pair(a, ref b)", "a b"),
        ("[a, .., b]", "a b"),
        ("[a, rest @ ..]", "a rest"),
        ("whole @ (a, _)", "whole a"),
        ("Some { 0: a, .. }", "a"),
        ("(Left(a) | Right(a))", "a"),
        ("(Pair(a, (b | b)), [c])", "a b c"),
        ("_", ""),
        ("()", ""),
    ] {
        let function = function(&format!("async fn f({pattern}: T) {{}}"));
        let bound: Vec<_> = function.parameters[0].names.iter().map(ToString::to_string).collect();
        assert_eq!(bound.join(" "), names, "{pattern}");
    }
}

#[test]
fn how_an_argument_is_passed_is_known_behind_parentheses_and_macros() {
    for (ty, passing) in [
        ("&T", Passing::Shared),
        ("&'a mut T", Passing::Exclusive),
        ("(&T)", Passing::Shared),
        ("((&mut T))", Passing::Exclusive),
        ("(&T, u8)", Passing::Value),
        ("Option<&mut T>", Passing::Value),
        ("*mut T", Passing::Value),
    ] {
        let written = function(&format!("async fn f(a: {ty}) {{}}"));
        let made = function_by_a_macro("async fn f(a: $T) {}", ty);
        assert_eq!(written.parameters[0].passing, passing, "{ty}");
        assert_eq!(made.parameters[0].passing, passing, "{ty} of a macro");
    }
}

#[test]
fn a_pinned_receiver_is_lent_like_an_exclusive_one() {
    for (this, passing, pinned) in [
        ("self", Passing::Value, false),
        ("mut self: Box<Self>", Passing::Value, false),
        ("&self", Passing::Shared, false),
        ("self: &Self", Passing::Shared, false),
        ("self: &mut Self", Passing::Exclusive, false),
        ("self: Pin<&Self>", Passing::Value, false),
        ("self: Pin<Box<Self>>", Passing::Value, false),
        ("self: Pin<&mut Self>", Passing::Exclusive, true),
        ("self: (::core::pin::Pin<(&'a mut Self)>)", Passing::Exclusive, true),
    ] {
        let receiver = function(&format!("async fn f({this}) {{}}")).receiver;
        let receiver = receiver.expect("a method has one");
        assert_eq!((receiver.passing, receiver.pinned), (passing, pinned), "{this}");
    }
    let made = function_by_a_macro("async fn f(self: $T) {}", "Pin<&mut Self>");
    assert!(made.receiver.is_some_and(|receiver| receiver.pinned));
}

#[test]
fn a_boxed_future_is_known_behind_parentheses_and_macros_and_nothing_else_is_taken_for_one() {
    for boxed in [
        "Pin<Box<dyn Future<Output = R>>>",
        "(Pin<(Box<(dyn 'a + Send + Future<Output = R>)>)>)",
        "std::pin::Pin<'a, Box<dyn std::future::Future<Output = R> + 'a>>",
    ] {
        let written = function(&format!("fn f() -> {boxed} {{}}"));
        let made = function_by_a_macro("fn f() -> $T {}", boxed);
        for function in [written, made] {
            assert!(function.boxed, "{boxed}");
            assert_eq!(function.output.ty.to_string(), "R", "{boxed}");
        }
    }
    for other in [
        "R",
        "()",
        "[R]",
        "Pin",
        "Pin<'a>",
        "Pin<R>",
        "Pin<Box<R>>",
        "Pin<[R; 1]>",
        "Pin<Arc<dyn Future<Output = R>>>",
        "Box<dyn Future<Output = R>>",
        "Pin<Box<dyn Send + 'a>>",
        "Pin<Box<dyn Future>>",
        "Pin<Box<dyn Future<Item = R>>>",
        "Pin<Box<dyn Stream<Output = R>>>",
        "Pin<Box<dyn Fn() -> R>>",
    ] {
        let why = why(&format!("fn f() -> {other} {{}}"));
        assert_eq!(
            why, "`#[breaker]` goes on an `async fn`, and `f` is not async: write `async fn`",
            "{other}"
        );
    }
}

#[test]
fn an_opaque_type_is_left_open_wherever_it_stands() {
    for (ty, open) in [
        ("& 'static impl A", "& 'static _"),
        ("* const impl A", "* const _"),
        ("[impl A ; 3]", "[_ ; 3]"),
        ("Box < [impl A] >", "Box < [_] >"),
        ("(impl A)", "(_)"),
        ("Result < (impl A , impl B) , E >", "Result < (_ , _) , E >"),
    ] {
        let function = function(&format!("async fn f() -> {ty} {{}}"));
        assert!(function.output.opaque, "{ty}");
        assert_eq!(function.output.ty.to_string(), open, "{ty}");
    }
    assert!(
        function_by_a_macro("async fn f() -> Res<$T> {}", "impl A")
            .output
            .opaque
    );
    for closed in [
        "",
        "-> !",
        "-> Result<u8, Box<dyn A>>",
        "-> fn(u8) -> u8",
        "-> <T as A>::B",
    ] {
        assert!(
            !function(&format!("async fn f() {closed} {{}}")).output.opaque,
            "{closed}"
        );
    }
}

#[test]
fn what_stands_before_a_function_is_kept_and_what_has_no_body_is_refused() {
    let kept = function("#[inline] pub(crate) default async fn f() {}");
    assert_eq!(kept.head.to_string(), "# [inline] pub (crate) default");
    assert_eq!(kept.output.ty.to_string(), "()");
    for text in ["async fn f()", "async fn f() ()", "async fn f() = 1"] {
        assert_eq!(why(text), "expected a body", "{text}");
    }
}
