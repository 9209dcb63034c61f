//! A real tonic server that does as it is told by each request, and its client; without generated code.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut};
use http::uri::PathAndQuery;
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::server::UnaryService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Response, Status};
use tower_service::Service;

type Answering<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// A server on loopback, on threads of its own; gone with all its connections when dropped.
pub(crate) struct Far {
    address: String,
    threads: Option<Runtime>,
}

impl Far {
    pub(crate) fn start() -> Self {
        let threads = Runtime::new().unwrap();
        let entered = threads.enter();
        let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = format!("http://{}", incoming.local_addr().unwrap());
        threads.spawn(Server::builder().serve_with_incoming(Answers, incoming));
        drop(entered);
        Self {
            address,
            threads: Some(threads),
        }
    }

    pub(crate) fn channel(&self) -> Channel {
        Endpoint::from_shared(self.address.clone()).unwrap().connect_lazy()
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

/// Asks for an answer: the number of a code, a pushback after it (`14 250`), or `hang`.
pub(crate) async fn ask(channel: &Channel, for_what: &str) -> Result<String, Status> {
    send(channel, Request::new(for_what.to_owned())).await
}

pub(crate) async fn send(channel: &Channel, request: Request<String>) -> Result<String, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client
        .ready()
        .await
        .map_err(|error| Status::from_error(Box::new(error)))?;
    let path = PathAndQuery::from_static("/far.Side/Answer");
    client.unary(request, path, Text).await.map(Response::into_inner)
}

#[derive(Clone)]
struct Answers;

impl Service<http::Request<Body>> for Answers {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answering<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(tonic::server::Grpc::new(Text).unary(Answer, request).await) })
    }
}

struct Answer;

impl UnaryService<String> for Answer {
    type Response = String;
    type Future = Answering<Response<String>, Status>;

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let wanted = request.into_inner();
        if wanted == "hang" {
            return Box::pin(pending());
        }
        Box::pin(ready(answer(&wanted)))
    }
}

fn answer(wanted: &str) -> Result<Response<String>, Status> {
    let (code, pushback) = wanted.split_once(' ').unwrap_or((wanted, ""));
    let code = Code::from_i32(code.parse().unwrap());
    if code == Code::Ok {
        return Ok(Response::new("well".to_owned()));
    }
    let mut metadata = MetadataMap::new();
    if !pushback.is_empty() {
        metadata.insert("grpc-retry-pushback-ms", pushback.parse().unwrap());
    }
    Err(Status::with_metadata(code, "as it was told", metadata))
}

/// Messages are plain text.
#[derive(Clone, Copy)]
struct Text;

impl Codec for Text {
    type Encode = String;
    type Decode = String;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Text {
    type Item = String;
    type Error = Status;

    fn encode(&mut self, text: String, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(text.as_bytes());
        Ok(())
    }
}

impl Decoder for Text {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let mut text = vec![0; from.remaining()];
        from.copy_to_slice(&mut text);
        Ok(String::from_utf8(text).ok())
    }
}
