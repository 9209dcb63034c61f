//! The audit as a graph: functions, their dependencies, and what stands in for these.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::index::Id;
use super::report::{Report, plain};

pub(super) fn graph(report: &Report<'_>) -> String {
    let mut graph = Graph {
        nodes: BTreeMap::new(),
        text: String::from("flowchart LR\n"),
        edges: 0,
        red: Vec::new(),
    };
    for dependency in &report.dependencies {
        let fail = dependency
            .fail
            .map_or("not in the policy".into(), |fail| format!("fail {fail}"));
        let to = graph.node(
            &format!("dependency {}", dependency.name),
            &format!("[({})]", quoted(&format!("{}\n{fail}", dependency.name))),
        );
        for id in &dependency.functions {
            let from = graph.function(report, *id);
            let guard = report.index.functions[*id].guard.as_ref();
            let layers = guard.map_or(String::new(), |guard| guard.layers.join(", "));
            graph.edge(&from, &format!("-->|{}|", quoted(&layers)), &to, false);
        }
        for how in dependency.by_hand.iter().map(|by_hand| &by_hand.how) {
            let from = graph.node(&format!("by hand {how}"), &format!("[{}]", quoted(how)));
            graph.edge(&from, "-->|\"by hand\"|", &to, false);
        }
    }
    for (id, function) in report.guarded() {
        let forms = function.guard.iter().flat_map(|guard| &guard.fallbacks);
        for (at, (form, targets)) in forms.zip(&report.findings.fallbacks[id]).enumerate() {
            let from = graph.function(report, id);
            let back = report
                .findings
                .circular
                .iter()
                .find(|one| one.function == id && one.form == at);
            if targets.is_empty() {
                let to = graph.node(&format!("form {id} {at}"), &format!("([{}])", quoted(&plain(form))));
                graph.edge(&from, "-.->|\"else\"|", &to, false);
            }
            for target in targets {
                let to = graph.function(report, *target);
                graph.edge(
                    &from,
                    &format!("-.->|{}|", quoted(&format!("else {}", form.kind))),
                    &to,
                    back.is_some(),
                );
            }
            for pair in back.iter().flat_map(|back| back.path.windows(2)) {
                let (one, next) = (graph.function(report, pair[0]), graph.function(report, pair[1]));
                graph.edge(&one, "-->", &next, true);
            }
        }
    }
    for found in &report.findings.unguarded {
        let from = graph.function(report, found.function);
        let to = graph.node(
            &format!("client {}", found.client),
            &format!("[[{}]]", quoted(found.client)),
        );
        graph.edge(&from, "-->|\"no guard\"|", &to, true);
    }
    for gap in report.gaps.iter().filter(|gap| gap.kind == "unused_entry") {
        let name = gap.dependency.as_deref().unwrap_or_default();
        graph.node(
            &format!("unused {name}"),
            &format!("[({})]", quoted(&format!("{name}\nno code names it"))),
        );
    }
    if !graph.red.is_empty() {
        let edges: Vec<String> = graph.red.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            graph.text,
            "    linkStyle {} stroke:#c0392b,stroke-width:2px",
            edges.join(",")
        );
    }
    graph.text
}

struct Graph {
    /// What a node is about, and its name in the graph.
    nodes: BTreeMap<String, String>,
    text: String,
    edges: usize,
    red: Vec<usize>,
}

impl Graph {
    fn node(&mut self, about: &str, shape: &str) -> String {
        if let Some(name) = self.nodes.get(about) {
            return name.clone();
        }
        let name = format!("n{}", self.nodes.len());
        let _ = writeln!(self.text, "    {name}{shape}");
        self.nodes.insert(about.to_owned(), name.clone());
        name
    }

    fn function(&mut self, report: &Report<'_>, id: Id) -> String {
        let function = &report.index.functions[id];
        let label = format!("{}\n{}:{}", function.shown(), function.place.file, function.place.line);
        self.node(&format!("function {id}"), &format!("[{}]", quoted(&label)))
    }

    fn edge(&mut self, from: &str, arrow: &str, to: &str, red: bool) {
        let _ = writeln!(self.text, "    {from} {arrow} {to}");
        if red {
            self.red.push(self.edges);
        }
        self.edges += 1;
    }
}

/// A label: what means something in Mermaid or in HTML is written as a character's number.
fn quoted(text: &str) -> String {
    let mut label = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => label.push_str("<br/>"),
            '"' | '<' | '>' | '&' | '#' | '`' => {
                let _ = write!(label, "#{};", u32::from(c));
            }
            c => label.push(c),
        }
    }
    label.push('"');
    label
}
