//! Headless Chromium, and what a test does in it.

use std::path::PathBuf;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::driver::Driver;

/// What a page may take to do what it is waited for, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// One window.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
}

impl Browser {
    /// Opens a window of this size; nothing where there is no Chromium, unless `RESILIENCE_REQUIRE_SERVERS` wants one.
    ///
    /// # Panics
    ///
    /// When there is a driver and it does not work, and where one is wanted and missing.
    pub async fn open(width: u32, height: u32, dark: bool) -> Option<Self> {
        let Some(driver) = Driver::start(&options(width, height, dark)).await else {
            let wanted = std::env::var("RESILIENCE_REQUIRE_SERVERS").is_ok_and(|wanted| wanted == "1");
            assert!(!wanted, "no chromedriver: apt-get install chromium chromium-driver");
            eprintln!("passed over: there is no chromedriver here (Debian: chromium chromium-driver)");
            return None;
        };
        Some(Self { driver })
    }

    /// Goes to a page and waits for its first frame.
    ///
    /// # Panics
    ///
    /// When it does not come.
    pub async fn visit(&self, url: &str) {
        self.driver.visit(url).await.expect("a page");
        self.until("document.documentElement.dataset.seq").await;
    }

    /// The value of a JavaScript expression.
    ///
    /// # Panics
    ///
    /// When it throws.
    pub async fn read(&self, expression: &str) -> Value {
        let answer = self.driver.execute(&format!("return {expression}")).await;
        answer.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The text that an expression gives.
    ///
    /// # Panics
    ///
    /// When it throws, or gives none.
    pub async fn text(&self, expression: &str) -> String {
        match self.read(expression).await {
            // Numbers and units are held together by spaces that do not break; nobody wants to type them.
            Value::String(text) => text.replace('\u{a0}', " "),
            other => panic!("{expression} is {other}"),
        }
    }

    /// Waits until the expression is true, and gives its value.
    ///
    /// # Panics
    ///
    /// When that does not happen.
    pub async fn until(&self, expression: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let value = self.read(&format!("({expression}) ?? null")).await;
            if !matches!(&value, Value::Null | Value::Bool(false)) {
                return value;
            }
            if Instant::now() > end {
                let page = self.text("document.body.innerText").await;
                panic!("never so: {expression}\n{page}");
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Clicks what a selector finds first.
    ///
    /// # Panics
    ///
    /// When there is nothing, or something lies over it.
    pub async fn click(&self, selector: &str) {
        let clicked = self.driver.click(selector).await;
        clicked.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Types into what a selector finds first.
    ///
    /// # Panics
    ///
    /// When there is nothing that takes keys.
    pub async fn fill(&self, selector: &str, text: &str) {
        let typed = self.driver.keys(selector, text).await;
        typed.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Presses keys where the focus is.
    ///
    /// # Panics
    ///
    /// When nothing takes them.
    pub async fn press(&self, keys: &str) {
        self.driver.press(keys).await.expect("a focus that takes keys");
    }

    /// Keeps a picture of the window: below `RESILIENCE_SCREENSHOTS`, else below the target folder. `whole` makes the
    /// window as high as the page first.
    ///
    /// # Panics
    ///
    /// When it cannot be taken or written.
    pub async fn picture(&self, name: &str, whole: bool) {
        if whole {
            let size = async |expression: &str| self.read(expression).await.as_u64().expect("a size");
            let width = size("window.outerWidth").await;
            let height = size("Math.min(3000, document.documentElement.scrollHeight)").await;
            self.driver
                .resize(width, height + 140)
                .await
                .expect("a window that can be resized");
        }
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = std::env::var_os("RESILIENCE_SCREENSHOTS")
            .map_or_else(|| root.join("target/page"), |folder| root.join(folder));
        std::fs::create_dir_all(&folder).expect("a folder for the pictures");
        let picture = self.driver.picture().await.expect("a picture");
        let picture = BASE64_STANDARD.decode(picture.as_str().expect("text")).expect("base64");
        std::fs::write(folder.join(format!("{name}.png")), picture).expect("a picture written");
    }

    /// Ends the browser in order.
    ///
    /// # Panics
    ///
    /// When it does not end.
    pub async fn close(self) {
        self.driver.end().await.expect("an end");
    }
}

fn options(width: u32, height: u32, dark: bool) -> Value {
    let mut arguments = vec![
        "--headless=new".to_owned(),
        // In a container it runs as root, with little shared memory, and nothing of it may call home.
        "--no-sandbox".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--hide-scrollbars".to_owned(),
        format!("--window-size={width},{height}"),
    ];
    if dark {
        arguments.push("--blink-settings=preferredColorScheme=0".to_owned());
    }
    let mut options = json!({ "args": arguments });
    if width < 600 {
        // A desktop window cannot be so narrow.
        let metrics = json!({ "width": width, "height": height, "pixelRatio": 1.5, "touch": true });
        options["mobileEmulation"] = json!({ "deviceMetrics": metrics });
    }
    options
}
