//! The pictures of the gallery are what the simulator draws today. `GALLERY=overwrite` draws them anew.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The scenario, the policies side by side, and whether the same without guards stands beside them.
const PICTURES: [(&str, &[&str], bool); 9] = [
    ("on-sale", &["errors-only", "bulkhead"], true),
    ("dead-provider", &["guarded"], true),
    ("recommendations", &["walls"], true),
    ("redis-cache", &["no-limit", "limited"], false),
    ("stampede", &["one-per-key"], false),
    ("flapping", &["one-probe", "bulkhead"], false),
    ("probe-surge", &["a-hundred-each", "spread"], false),
    ("three-weeks", &["breaker"], false),
    ("quiet-shop", &["breaker", "by-hand"], false),
];

fn gallery() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../gallery")
}

/// Draws one picture and gives it with what the command printed.
fn drawn(name: &str, policies: &[&str], without: bool, into: &Path) -> (String, String) {
    let svg = into.join(format!("{name}.svg"));
    let mut args: Vec<OsString> = vec!["resilience".into(), "simulate".into()];
    args.push(gallery().join(format!("{name}.toml")).into());
    for policy in policies {
        args.push("--policy".into());
        args.push(gallery().join(format!("{name}.{policy}.toml")).into());
    }
    args.extend(without.then(|| "--without".into()));
    args.extend(["--svg".into(), svg.clone().into()]);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = resilience_cli::run(args, &mut out, &mut err);
    let err = String::from_utf8(err).unwrap();
    assert_eq!((code, err.as_str()), (0, ""), "{name}");
    (std::fs::read_to_string(svg).unwrap(), String::from_utf8(out).unwrap())
}

#[test]
fn every_picture_is_what_the_simulator_draws() {
    let overwrite = std::env::var("GALLERY").is_ok_and(|word| word == "overwrite");
    let folder = tempfile::tempdir().unwrap();
    let drawing: Vec<_> = PICTURES
        .chunks(PICTURES.len().div_ceil(2))
        .map(|pictures| {
            let folder = folder.path().to_owned();
            std::thread::spawn(move || {
                for (name, policies, without) in pictures {
                    let (svg, _) = drawn(name, policies, *without, &folder);
                    let kept = gallery().join(format!("{name}.svg"));
                    if overwrite {
                        std::fs::write(&kept, &svg).unwrap();
                    }
                    let same = std::fs::read_to_string(&kept).is_ok_and(|kept| kept == svg);
                    assert!(
                        same,
                        "gallery/{name}.svg is not what is drawn: `just gallery`, and look at it"
                    );
                }
            })
        })
        .collect();
    for thread in drawing {
        thread.join().unwrap();
    }
}

/// The README shows each picture, and nothing else lies in the folder.
#[test]
fn the_gallery_is_complete() {
    let words = std::fs::read_to_string(gallery().join("README.md")).unwrap();
    let mut files: Vec<String> = std::fs::read_dir(gallery())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|file| file != "README.md")
        .collect();
    for (name, policies, _) in PICTURES {
        assert!(words.contains(&format!("]({name}.svg)")), "{name} is not shown");
        let mut take = |file: String| {
            let at = files.iter().position(|known| *known == file);
            files.swap_remove(at.unwrap_or_else(|| panic!("gallery/{file} is missing")));
        };
        take(format!("{name}.toml"));
        take(format!("{name}.svg"));
        for policy in policies {
            take(format!("{name}.{policy}.toml"));
        }
    }
    assert_eq!(files, Vec::<String>::new());
}

/// Well-formed, without fonts, scripts or anything from elsewhere, and for both backgrounds.
#[test]
fn a_picture_stands_by_itself() {
    for (name, _, _) in PICTURES {
        let svg = std::fs::read_to_string(gallery().join(format!("{name}.svg"))).unwrap();
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"),
            "{name}"
        );
        assert!(
            svg.contains("prefers-color-scheme:dark") && svg.contains("<title id=\"t\">"),
            "{name}"
        );
        for foreign in ["<script", "@font-face", "@import", "url(", "href", "NaN", "inf"] {
            assert!(!svg.contains(foreign), "{name}: {foreign}");
        }
        let elements = |word: &str| svg.matches(word).count();
        assert_eq!(elements("<text"), elements("</text>"), "{name}");
        assert_eq!(elements("<tspan"), elements("</tspan>"), "{name}");
    }
}
