use super::*;

/// The first mistake that a large text of such lines is told to have, and how many of how many were kept.
fn flooded(line: &str) -> Option<(String, usize, usize)> {
    let line = format!("{line} # nobody knows what this was to be\n");
    let text = format!("version = 1\n{}", line.repeat(30_000));
    assert!(text.len() > LARGE);
    let (faults, more) = flood(&Text::new(&text), "p.toml")?;
    let first = faults.first().map(|fault| {
        let (line, column) = (fault.line().unwrap_or(0), fault.column().unwrap_or(0));
        format!("{line}:{column} {}", fault.message())
    });
    Some((first?, faults.len(), more))
}

#[test]
fn no_tree_is_made_of_a_large_text_that_is_little_else_but_mistakes_whatever_their_sort() {
    for (line, first) in [
        ("= 1", "2:1 a key is missing before `=`"),
        ("a =", "2:5 a value is missing after `=`"),
        ("a = b", "2:5 a text stands in quotes"),
        ("a = 1.x", "2:7 invalid fraction"),
        ("a b", "2:3 a key without `=` and a value"),
        ("[a", "2:3 the header is not closed with `]`"),
    ] {
        let (told, kept, more) = flooded(line).expect(line);
        assert!(told.starts_with(first), "{line}: {told}");
        assert_eq!((kept, more), (MAX_FAULTS, 30_000 - MAX_FAULTS), "{line}");
    }
    for good in ["a = 1", "[a]", "a = \"b\"", "\"a b\".c = 1e9", ""] {
        assert_eq!(flooded(good), None, "{good}");
    }
}
