//! A browser and a served router, for the tests beside.

mod browser;
mod driver;
mod site;

pub use browser::Browser;
pub use site::Site;
