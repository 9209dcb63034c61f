//! The other files of the command, which are read with the policy's care.

use resilience_policy::PolicyError;
use resilience_policy::document::Document;

fn refused(bytes: &[u8]) -> PolicyError {
    Document::new(bytes, "sale.toml").unwrap_err()
}

#[test]
fn what_is_no_text_no_toml_too_deep_or_defined_twice_is_refused_at_its_place() {
    let deep = format!("a = {}", "[".repeat(1_000));
    for (bytes, name, line) in [
        (&b"name = \"\xff\"\n"[..], "encoding", 1),
        (b"name = \n", "syntax", 1),
        (b"name = 1\nname = 2\n", "duplicate", 2),
        (deep.as_bytes(), "too_deep", 1),
    ] {
        let error = refused(bytes);
        let fault = &error.faults()[0];
        assert_eq!(
            (fault.name(), fault.line(), fault.file()),
            (name, Some(line), "sale.toml"),
            "{error}"
        );
    }
    let flood = "= 1 # nobody knows what this was to be\n".repeat(30_000);
    assert_eq!(refused(flood.as_bytes()).faults().len(), 1_000);
}

#[test]
fn who_reads_further_says_what_is_wrong_and_where() {
    let text = "[[caller]]\nrate = 0\n";
    for document in [
        Document::new(text.as_bytes(), "sale.toml").unwrap(),
        Document::plain(text, "sale.toml"),
    ] {
        assert_eq!(document.text(), text);
        let at = text.find('0').unwrap();
        let fault = document
            .fault("out_of_range", &(at..at + 1), "caller.rate", "`rate` cannot be 0")
            .valued("0")
            .allowing("a number above 0")
            .suggesting(Some("1.0".into()));
        let error = PolicyError::of(vec![fault]);
        let fault = &error.faults()[0];
        assert_eq!(
            (fault.line(), fault.column(), fault.value()),
            (Some(2), Some(8), Some("0"))
        );
        assert_eq!(fault.suggestion(), Some("1.0"));
        let said = error.to_string();
        assert!(
            said.contains("sale.toml:2:8") && said.contains("a number above 0"),
            "{said}"
        );
    }
}
