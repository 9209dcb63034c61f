//! What counts as a client of something far away.

/// A library, the types of it that lead to the far side, and the functions that do so without a value of these.
pub(crate) struct Library {
    pub(crate) name: &'static str,
    pub(crate) types: &'static [&'static str],
    pub(crate) functions: &'static [&'static str],
}

const fn library(name: &'static str, types: &'static [&'static str], functions: &'static [&'static str]) -> Library {
    Library { name, types, functions }
}

const POOLS: &[&str] = &["Pool", "PooledConnection", "Object", "Connection", "Client"];
const VERBS: &[&str] = &["delete", "get", "head", "patch", "post", "put"];

/// The libraries that are known, as `docs/audit.md` lists them.
#[rustfmt::skip] // a library is a line
pub(crate) const LIBRARIES: &[Library] = &[
    // HTTP and RPC.
    library("attohttpc", &["Session", "RequestBuilder"], VERBS),
    library("awc", &["Client", "ClientRequest"], &[]),
    library("hyper", &["SendRequest"], &[]),
    library("hyper_util", &["Client"], &[]),
    library("isahc", &["HttpClient"], &["delete", "delete_async", "get", "get_async", "head", "head_async", "post", "post_async", "put", "put_async", "send", "send_async"]),
    library("jsonrpsee", &["HttpClient", "WsClient"], &[]),
    library("minreq", &["Request"], VERBS),
    library("octocrab", &["Octocrab"], &[]),
    library("reqwest", &["Client", "RequestBuilder"], &["get"]),
    library("reqwest_middleware", &["ClientWithMiddleware", "RequestBuilder"], &[]),
    library("surf", &["Client", "RequestBuilder"], VERBS),
    library("tonic", &["Channel", "Grpc", "InterceptedService"], &[]),
    library("ureq", &["Agent", "Request", "RequestBuilder"], &["delete", "get", "head", "patch", "post", "put", "request", "run"]),
    // Databases.
    library("cdrs_tokio", &["Session"], &[]),
    library("clickhouse", &["Client"], &[]),
    library("deadpool_postgres", POOLS, &[]),
    library("diesel", &["MysqlConnection", "PgConnection"], &[]),
    library("diesel_async", &["AsyncMysqlConnection", "AsyncPgConnection", "AsyncDieselConnectionManager"], &[]),
    library("mongodb", &["Client", "Collection", "Database"], &[]),
    library("mysql", &["Conn", "Pool", "PooledConn", "Transaction"], &[]),
    library("mysql_async", &["Conn", "Pool", "Transaction"], &[]),
    library("neo4rs", &["Graph"], &[]),
    library("postgres", &["Client", "GenericClient", "Transaction"], &[]),
    library("scylla", &["CachingSession", "Session"], &[]),
    library("sea_orm", &["ConnectionTrait", "DatabaseConnection", "DatabaseTransaction", "DbConn"], &[]),
    library("sqlx", &["Acquire", "AnyPool", "Executor", "MySqlConnection", "MySqlExecutor", "MySqlPool", "PgConnection", "PgExecutor", "PgListener", "PgPool", "Pool", "PoolConnection", "SqliteConnection", "SqlitePool", "Transaction"],
        &["query", "query_as", "query_as_with", "query_file", "query_file_as", "query_scalar", "query_with", "raw_sql"]),
    library("tiberius", &["Client"], &[]),
    library("tokio_postgres", &["Client", "GenericClient", "Transaction"], &[]),
    // Caches, queues, search, mail, pools of any of them.
    library("async_nats", &["Client", "Context"], &[]),
    library("bb8", POOLS, &[]),
    library("deadpool", POOLS, &[]),
    library("deadpool_redis", POOLS, &[]),
    library("elasticsearch", &["Elasticsearch"], &[]),
    library("fred", &["Client", "Pool", "RedisClient", "RedisPool"], &[]),
    library("lapin", &["Channel", "Connection"], &[]),
    library("lettre", &["AsyncSmtpTransport", "SmtpTransport"], &[]),
    library("memcache", &["Client"], &[]),
    library("opensearch", &["OpenSearch"], &[]),
    library("r2d2", POOLS, &[]),
    library("rdkafka", &["BaseProducer", "FutureProducer"], &[]),
    library("redis", &["AsyncCommands", "Client", "ClusterClient", "ClusterConnection", "Commands", "Connection", "ConnectionLike", "ConnectionManager", "MultiplexedConnection"], &["Script", "cmd", "pipe"]),
];

/// All of Amazon's clients are named alike.
const AWS: &str = "aws_sdk_";

/// What sends something, where nothing is awaited to show it.
const SENDS: &[&str] = &[
    "batch_execute",
    "call",
    "exec",
    "exec_async",
    "execute",
    "fetch",
    "fetch_all",
    "fetch_one",
    "fetch_optional",
    "publish",
    "query",
    "query_async",
    "query_drop",
    "query_first",
    "query_one",
    "query_opt",
    "query_raw",
    "query_row",
    "send",
    "simple_query",
];

/// Making a client is set-up, done once: no call that a guard could help.
const SETS_UP: &[&str] = &[
    "build",
    "builder",
    "connect",
    "connect_lazy",
    "connect_with",
    "create_pool",
    "new",
    "open",
];

/// The library whose client a type is: `["reqwest", "Client"]`.
pub(crate) fn of_type(path: &[String]) -> Option<&'static str> {
    let (root, name) = (path.first()?, path.last()?);
    if root.starts_with(AWS) && name == "Client" {
        return Some("aws_sdk");
    }
    let library = find(root)?;
    library.types.contains(&name.as_str()).then_some(library.name)
}

/// The library that a call of a path leads into: `reqwest::get`, `sqlx::query`, `reqwest::Client::builder`.
pub(crate) fn of_call(path: &[String]) -> Option<&'static str> {
    let (root, name) = (path.first()?, path.last()?);
    let owner = path.len().checked_sub(2).map(|at| &path[..=at]);
    if let Some(library) = owner.and_then(of_type) {
        return Some(library);
    }
    let library = find(root)?;
    library.functions.contains(&name.as_str()).then_some(library.name)
}

/// Whether a name is one of a library that is known: for `use reqwest::*`.
pub(crate) fn knows(root: &str, name: &str) -> bool {
    find(root).is_some_and(|library| library.types.contains(&name) || library.functions.contains(&name))
}

pub(crate) fn sends(method: &str) -> bool {
    SENDS.contains(&method)
}

pub(crate) fn sets_up(method: &str) -> bool {
    SETS_UP.contains(&method)
}

fn find(root: &str) -> Option<&'static Library> {
    LIBRARIES.iter().find(|library| library.name == root)
}
