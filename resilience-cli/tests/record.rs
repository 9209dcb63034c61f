//! `resilience record` against a service that does as the test says; `tests/record` of the workspace has a real one.

mod kit;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kit::{Desk, json, run};

const HEADER: &str = "time,latency,outcome,kind,key,dependency,instance,attempt,function\n";

fn line(outcome: &str, rest: &str) -> String {
    format!(
        "{{\"time\":1796061600.25,\"latency\":0.15,\"outcome\":\"{outcome}\",\"dependency\":\"payrail\",\"instance\":\"api-01\"{rest}}}\n"
    )
}

/// Answers one request, on a port of its own; gives its address and what was asked.
fn serve(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/admin", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0);
        }
        answer(&mut stream);
        head
    });
    (address, asked)
}

/// The head of a stream that ends with the connection, and some of it.
fn stream(stream: &mut TcpStream, text: &str) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{text}").as_bytes()).unwrap();
}

fn refusal(status: &'static str, said: &'static str) -> (String, JoinHandle<String>) {
    serve(move |stream| {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{said}", said.len());
        stream.write_all(answer.as_bytes()).unwrap();
    })
}

#[test]
fn calls_become_a_csv_that_a_person_and_suggest_can_read() {
    let desk = Desk::new();
    let text = [
        "# {\"calls\":0,\"lost\":0,\"end\":false}\n".to_owned(),
        line(
            "success",
            ",\"key\":\"00000000000000aa\",\"attempt\":1,\"function\":\"shop::pay, twice\"",
        ),
        line("failure", ",\"kind\":\"connect\",\"attempt\":2"),
        line("rejected", ",\"kind\":\"open\",\"attempt\":1"),
        line("left", ",\"attempt\":1"),
        "# {\"calls\":4,\"lost\":0,\"end\":true}\n".to_owned(),
    ];
    let saved = desk.file("saved.jsonl", &text.concat());
    let out = desk.path("payrail.csv");
    let (code, _, err) = run(&["record", "@", "-o", "@"], &[&saved, &out]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        desk.read("payrail.csv"),
        format!(
            "{HEADER}\
             2026-11-30T18:00:00.250000Z,0.15,success,,00000000000000aa,payrail,api-01,1,\"shop::pay, twice\"\n\
             2026-11-30T18:00:00.250000Z,0.15,failure,connect,,payrail,api-01,2,\n\
             2026-11-30T18:00:00.250000Z,0.15,rejected,open,,payrail,api-01,1,\n\
             2026-11-30T18:00:00.250000Z,0.15,left,,,payrail,api-01,1,\n"
        )
    );
    for words in [
        "4 lines written to `",
        "payrail 4",
        "1 refused by the guards, 1 left",
        "1 repeat an attempt",
    ] {
        assert!(err.contains(words), "{words}\n{err}");
    }
    let (code, said, err) = run(&["suggest", "@", "--format", "json"], &[&out]);
    assert_eq!(code, 0, "{err}");
    let evidence = &json(&said)["dependencies"]["payrail"]["evidence"];
    assert_eq!(
        (&evidence["calls"], &evidence["rejected"]),
        (&4.into(), &2.into()),
        "{said}"
    );
}

#[test]
fn what_is_written_as_json_is_what_came_and_is_read_again() {
    let desk = Desk::new();
    let saved = desk.file("saved.jsonl", &line("success", ",\"attempt\":1").repeat(3));
    let (code, out, err) = run(&["record", "@", "--format", "json"], &[&saved]);
    assert_eq!(
        (code, out.as_str()),
        (0, line("success", ",\"attempt\":1").repeat(3).as_str()),
        "{err}"
    );
    assert!(err.contains("3 lines written to standard output"), "{err}");
    let again = desk.path("again.jsonl");
    assert_eq!(run(&["record", "@", "-o", "@"], &[&saved, &again]).0, 0);
    assert_eq!(desk.read("again.jsonl"), out);
}

#[test]
fn repeats_and_refusals_of_a_recording_are_not_replayed_and_it_says_so() {
    let desk = Desk::new();
    let policy = desk.file(
        "resilience.toml",
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\nbreaker = {}\n",
    );
    let rest = ",\"attempt\":1";
    let text = [
        line("success", rest),
        line("failure", ",\"kind\":\"server\",\"attempt\":1"),
        line("success", ",\"attempt\":2"),
        line("rejected", ",\"kind\":\"open\",\"attempt\":1"),
        line("timed_out", rest),
        line("cancelled", rest),
    ];
    let saved = desk.file("saved.jsonl", &text.concat());
    let (code, out, err) = run(
        &["simulate", "@", "--policy", "@", "--format", "json"],
        &[&saved, &policy],
    );
    assert_eq!(code, 0, "{err}");
    assert_eq!(json(&out)["summary"]["payrail"]["arrived"], 3, "{out}");
    for words in [
        "1 calls were refused by the policy of that time",
        "1 attempts repeated another",
        "1 calls were cut by a timeout",
    ] {
        assert!(err.contains(words), "{words}\n{err}");
    }
}

#[test]
fn the_service_is_asked_for_what_was_named_and_with_the_time() {
    let (address, asked) = serve(|to| stream(to, "# {\"calls\":0,\"lost\":0,\"end\":true}\n"));
    let (code, out, err) = run(
        &[
            "record",
            &format!("{address}/page"),
            "--for",
            "250ms",
            "--dependency",
            "payrail",
            "--dependency",
            "redis",
        ],
        &[],
    );
    let asked = asked.join().unwrap();
    assert!(
        asked.starts_with("GET /admin/calls?dependency=payrail%2Credis&for=0.25 "),
        "{asked}"
    );
    // Nobody called: there is a header, and a word.
    assert_eq!((code, out.as_str()), (1, HEADER), "{err}");
    assert!(err.contains("0 lines written"), "{err}");
}

#[test]
fn a_service_that_goes_in_the_middle_is_told_and_what_came_is_kept_in_whole_lines() {
    let desk = Desk::new();
    let out = desk.path("cut.csv");
    let half = format!("{}{}", line("success", "").repeat(2), "{\"time\":17960");
    let (address, asked) = serve(move |to| stream(to, &half));
    let (code, _, err) = run(&["record", &address, "-o", "@"], &[&out]);
    asked.join().unwrap();
    assert_eq!(code, 1);
    assert!(
        err.contains("was lost: the connection ended in the middle; what came before is kept"),
        "{err}"
    );
    let text = desk.read("cut.csv");
    assert_eq!((text.lines().count(), text.ends_with('\n')), (3, true), "{text}");
}

#[test]
fn loss_is_told_with_the_way_out_and_is_an_exit_code() {
    let text = format!("{}# {{\"calls\":1,\"lost\":12,\"end\":true}}\n", line("success", ""));
    let (address, asked) = serve(move |to| stream(to, &text));
    let (code, _, err) = run(&["record", &address], &[]);
    asked.join().unwrap();
    assert_eq!(code, 1);
    assert!(
        err.contains("12 more were lost: they ended faster than they were read; `--dependency`"),
        "{err}"
    );
    assert!(err.contains("ended the recording: the service went down"), "{err}");
}

#[test]
fn a_service_that_was_slow_to_answer_and_ends_in_time_did_not_go_down() {
    let text = format!("{}# {{\"calls\":1,\"lost\":0,\"end\":true}}\n", line("success", ""));
    for (lasting, code) in [("100ms", 0), ("1h", 1)] {
        let (asks, text) = (Instant::now(), text.clone());
        // Its time begins when it is asked, and is over when it answers.
        let (address, asked) = serve(move |to| {
            while asks.elapsed() < Duration::from_millis(110) {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            stream(to, &text);
        });
        let (given, _, err) = run(&["record", &address, "--for", lasting], &[]);
        asked.join().unwrap();
        assert_eq!(given, code, "{lasting}: {err}");
        assert_eq!(err.contains("the service went down"), code == 1, "{lasting}: {err}");
    }
}

#[test]
fn who_cannot_be_recorded_says_why_and_nothing_is_written() {
    let desk = Desk::new();
    let out = desk.path("none.csv");
    for ((address, asked), words) in [
        (
            refusal("401 Unauthorized", "the token is missing or wrong\n"),
            "RESILIENCE_ADMIN_TOKEN",
        ),
        (
            refusal("404 Not Found", ""),
            "needs the feature `record` of `resilience-admin` and `Admin::record`",
        ),
        (
            refusal("404 Not Found", "`payrial` is not a dependency\n"),
            "answered 404: `payrial` is not",
        ),
        (
            refusal("503 Service Unavailable", "4 recordings run already\n"),
            "4 recordings run already",
        ),
        (refusal("200 OK", "<html>"), "something that is no recording"),
    ] {
        let (code, _, err) = run(&["record", &address, "-o", "@"], &[&out]);
        asked.join().unwrap();
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(words), "{words}\n{err}");
        assert!(!out.exists());
    }
    for (from, words) in [
        ("http://127.0.0.1:1/admin", "did not answer"),
        (
            "https://ops/admin",
            "curl -fsSN https://ops/admin | resilience record -",
        ),
        ("./none.jsonl", "cannot be read"),
    ] {
        let (code, _, err) = run(&["record", from, "-o", "@"], &[&out]);
        assert!(code == 2 && err.contains(words) && !out.exists(), "{from}: {err}");
    }
    let (code, _, err) = run(&["record", "-", "--for", "60"], &[]);
    assert!(code == 2 && err.contains("`--for 60` is no duration"), "{err}");
}

#[test]
fn a_file_is_never_written_over_and_is_added_to_only_if_it_is_one_of_these() {
    let desk = Desk::new();
    let saved = desk.file("saved.jsonl", &line("success", ""));
    let out = desk.path("trace.csv");
    assert_eq!(run(&["record", "@", "-o", "@", "--append"], &[&saved, &out]).0, 0);
    let once = desk.read("trace.csv");
    let (code, _, err) = run(&["record", "@", "-o", "@"], &[&saved, &out]);
    assert!(
        code == 2 && err.contains("is there already: `--append` adds to it"),
        "{err}"
    );
    assert_eq!(run(&["record", "@", "-o", "@", "--append"], &[&saved, &out]).0, 0);
    assert_eq!(
        desk.read("trace.csv"),
        format!("{once}{}", once.strip_prefix(HEADER).unwrap())
    );
    let others = desk.file("others.csv", "name,age\n");
    for words in [["--format", "csv"], ["--format", "json"]] {
        let (code, _, err) = run(
            &["record", "@", "-o", "@", "--append", words[0], words[1]],
            &[&saved, &others],
        );
        assert!(
            code == 2 && err.contains("was not written by `resilience record"),
            "{err}"
        );
    }
    assert_eq!(desk.read("others.csv"), "name,age\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_told() {
    let desk = Desk::new();
    let saved = desk.file("saved.jsonl", &line("success", ""));
    for format in ["csv", "json"] {
        let (code, _, err) = run(
            &["record", "@", "-o", "/dev/full", "--append", "--format", format],
            &[&saved],
        );
        assert!(
            code == 2 && err.contains("`/dev/full` cannot be written: No space left"),
            "{code} {err}"
        );
    }
}

#[test]
fn the_token_is_taken_from_the_environment() {
    for token in [None, Some("a-token-of-a-test")] {
        let (address, asked) = serve(|to| stream(to, "# {\"calls\":0,\"lost\":0,\"end\":true}\n"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_resilience"));
        command.args(["record", &address]).env_remove("RESILIENCE_ADMIN_TOKEN");
        if let Some(token) = token {
            command.env("RESILIENCE_ADMIN_TOKEN", token);
        }
        assert_eq!(command.output().unwrap().status.code(), Some(1));
        let asked = asked.join().unwrap().to_ascii_lowercase();
        let bearer = token.map(|token| format!("authorization: bearer {token}\r\n"));
        match bearer {
            Some(bearer) => assert!(asked.contains(&bearer), "{asked}"),
            None => assert!(!asked.contains("authorization"), "{asked}"),
        }
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_with_a_whole_last_line_and_the_sum() {
    let desk = Desk::new();
    let out = desk.path("trace.csv");
    let (address, asked) = serve(|to| {
        stream(to, "");
        // Until the reader goes, and never in whole lines.
        let text = line("success", "");
        let (mut first, second) = (text[..40].to_owned(), &text[40..]);
        while to.write_all(first.as_bytes()).is_ok() {
            first = format!("{second}{}", &text[..40]);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let mut process = Command::new(env!("CARGO_BIN_EXE_resilience"))
        .args(["record", &address, "-o"])
        .arg(&out)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while desk.read("trace.csv").lines().count() < 5 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let signalled = Command::new("kill")
        .args(["-INT", &process.id().to_string()])
        .status()
        .unwrap();
    assert!(signalled.success());
    let status = process.wait().unwrap();
    let mut err = String::new();
    process.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(status.code(), Some(0), "{err}");
    let text = desk.read("trace.csv");
    let lines = text.lines().count() - 1;
    assert!(lines >= 4 && text.ends_with(",payrail,api-01,,\n"), "{text}");
    assert!(err.starts_with(&format!("{lines} lines written to `")), "{err}");
    asked.join().unwrap();
}
