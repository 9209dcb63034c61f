//! The few calls of the `WebDriver` protocol that the tests need, over HTTP.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The name of an element's reference, as the protocol fixes it.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// Starting a browser on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session of chromedriver; both end with it.
#[derive(Debug)]
pub(crate) struct Driver {
    http: reqwest::Client,
    session: String,
    // Killed on drop, and Chromium ends with it.
    _process: Child,
}

impl Driver {
    /// Nothing where it is not installed.
    pub(crate) async fn start(options: &Value) -> Option<Self> {
        let (process, port) = spawn().await?;
        let http = reqwest::Client::builder().timeout(PATIENCE).build().expect("a client");
        let mut driver = Self {
            http,
            session: format!("http://127.0.0.1:{port}/session"),
            _process: process,
        };
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let made = driver
            .ask(Method::POST, "", &wanted)
            .await
            .expect("a Chromium that starts");
        let id = made["sessionId"].as_str().expect("a session's name");
        driver.session = format!("{}/{id}", driver.session);
        Some(driver)
    }

    pub(crate) async fn visit(&self, url: &str) -> Result<Value, String> {
        self.ask(Method::POST, "/url", &json!({ "url": url })).await
    }

    pub(crate) async fn execute(&self, script: &str) -> Result<Value, String> {
        self.ask(Method::POST, "/execute/sync", &json!({ "script": script, "args": [] }))
            .await
    }

    pub(crate) async fn click(&self, selector: &str) -> Result<Value, String> {
        let element = self.find(selector).await?;
        self.ask(Method::POST, &format!("/element/{element}/click"), &json!({}))
            .await
    }

    /// Types into an element, as keys.
    pub(crate) async fn keys(&self, selector: &str, keys: &str) -> Result<Value, String> {
        let element = self.find(selector).await?;
        self.ask(
            Method::POST,
            &format!("/element/{element}/value"),
            &json!({ "text": keys }),
        )
        .await
    }

    /// Presses keys where the focus is.
    pub(crate) async fn press(&self, keys: &str) -> Result<Value, String> {
        let active = self.ask(Method::GET, "/element/active", &Value::Null).await?;
        let element = active[ELEMENT].as_str().ok_or("nothing has the focus")?;
        self.ask(
            Method::POST,
            &format!("/element/{element}/value"),
            &json!({ "text": keys }),
        )
        .await
    }

    pub(crate) async fn resize(&self, width: u64, height: u64) -> Result<Value, String> {
        self.ask(
            Method::POST,
            "/window/rect",
            &json!({ "width": width, "height": height }),
        )
        .await
    }

    /// A PNG in base64.
    pub(crate) async fn picture(&self) -> Result<Value, String> {
        self.ask(Method::GET, "/screenshot", &Value::Null).await
    }

    pub(crate) async fn end(self) -> Result<Value, String> {
        self.ask(Method::DELETE, "", &Value::Null).await
    }

    async fn find(&self, selector: &str) -> Result<String, String> {
        let wanted = json!({ "using": "css selector", "value": selector });
        let found = self.ask(Method::POST, "/element", &wanted).await?;
        found[ELEMENT]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("no {selector}"))
    }

    async fn ask(&self, method: Method, path: &str, body: &Value) -> Result<Value, String> {
        let mut request = self.http.request(method, format!("{}{path}", self.session));
        if !body.is_null() {
            request = request.json(body);
        }
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let good = answer.status().is_success();
        let mut told: Value = answer.json().await.map_err(|error| error.to_string())?;
        let value = told["value"].take();
        if good {
            Ok(value)
        } else {
            Err(value["message"].to_string())
        }
    }
}

/// On a free port that it chooses itself.
async fn spawn() -> Option<(Child, u16)> {
    let mut process = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
    let mut said = String::new();
    let listening = timeout(PATIENCE, async {
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = writeln!(said, "{line}");
            let port = line.split("started successfully on port ").nth(1);
            if let Some(port) = port.and_then(|port| port.trim_end_matches('.').parse().ok()) {
                return Some(port);
            }
        }
        None
    });
    let port = listening.await.ok().flatten();
    let port = port.unwrap_or_else(|| panic!("no chromedriver that says where it listens: {said}"));
    // One whose words nobody reads would wait for a reader.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Some((process, port))
}
