//! All paths of the server, below the token:
//!
//! | path | method | is |
//! |---|---|---|
//! | `/` | GET | the page, with `ui.js` and `ui.css` beside it |
//! | `/api/form` | GET | the JSON Schemas of the options of a run and of its criteria |
//! | `/api/runs` | GET, POST | the runs of this session; starts one |
//! | `/api/runs/N/feed` | GET | its lines, so far and to come (server-sent events); those after `Last-Event-ID` |
//! | `/api/runs/N/rate`, `…/stop` | POST | a command to it |
//! | `/api/history?experiment=…` | GET | records in short, by the filters of `store` |
//! | `/api/trends?…` | GET | the trends of those records |
//! | `/records/ID` | GET | the report of a record |
//! | `/records/BASE/to/ID` | GET | two records side by side |
//!
//! Errors are a status and a sentence.

use crate::ask::Ask;
use crate::guard;
use crate::page;
use crate::runs::{Run, Runs, STOP, StartError};
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use record::{Entry, Level, RunRecord};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use store::{Filter, NameError, Store};
use tokio::sync::watch;
use units::Rate;

/// Opens the history; called for each request.
pub type History = Box<dyn Fn() -> Result<Option<Box<dyn Store>>, String> + Send + Sync>;

/// Everything that requests share.
pub(crate) struct Shared {
    pub(crate) token: String,
    pub(crate) port: u16,
    pub(crate) runs: Runs,
    pub(crate) history: History,
}

/// A status and a sentence.
#[derive(Debug)]
struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

type Answer<T> = Result<T, Refusal>;
type Our = State<Arc<Shared>>;

/// The routes of all paths, behind the guard.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let inner = Router::new()
        .route("/", get(async || Html(page::HTML)))
        .route("/ui.js", get(async || typed("text/javascript; charset=utf-8", page::SCRIPT)))
        .route("/ui.css", get(async || typed("text/css; charset=utf-8", page::STYLE)))
        .route("/api/form", get(form))
        .route("/api/runs", get(runs).post(start))
        .route("/api/runs/{number}/feed", get(feed))
        .route("/api/runs/{number}/rate", post(rate))
        .route("/api/runs/{number}/stop", post(stop))
        .route("/api/history", get(history))
        .route("/api/trends", get(trends))
        .route("/records/{id}", get(report))
        .route("/records/{base}/to/{id}", get(compared));
    Router::new()
        .nest("/{token}", inner)
        // `nest` does not route the path that ends with a slash.
        .route("/{token}/", get(async || Html(page::HTML)))
        .fallback(async || Refusal(StatusCode::NOT_FOUND, "there is no such page".to_owned()))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared)
}

/// Refuses requests that the guard refuses. Adds headers to all other responses that limit what the browser may do with
/// them.
async fn guarded(State(shared): Our, request: Request, next: Next) -> Response {
    let first = request.uri().path().split('/').nth(1).unwrap_or_default();
    let (method, headers) = (request.method(), request.headers());
    if let Some(reason) = guard::refusal(method, headers, first, &shared.token, shared.port) {
        return Refusal(StatusCode::FORBIDDEN, reason.to_owned()).into_response();
    }
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_static(page::POLICY);
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    answer
}

fn typed(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}

/// The fields of the form.
#[derive(Serialize)]
struct Form {
    options: schemars::Schema,
    criteria: schemars::Schema,
}

async fn form() -> Json<Form> {
    let [options, criteria] =
        [schemars::schema_for!(spec::Options), schemars::schema_for!(spec::Criteria)];
    Json(Form { options, criteria })
}

async fn runs(State(shared): Our) -> impl IntoResponse {
    Json(shared.runs.list())
}

/// The number of a run that was started.
#[derive(Serialize)]
struct Started {
    number: usize,
}

async fn start(State(shared): Our, body: Bytes) -> Answer<Json<Started>> {
    let ask: Ask = read_json(&body)?;
    let started = blocking(move || shared.runs.start_asked(&ask)).await?;
    let number = started.map_err(|error| {
        let status = match &error {
            StartError::Busy { .. } | StartError::TooMany => StatusCode::CONFLICT,
            StartError::Text(_) => StatusCode::BAD_REQUEST,
            StartError::Failed { .. } | StartError::Thread(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal(status, error.to_string())
    })?;
    Ok(Json(Started { number }))
}

/// Reads the JSON that a page sent. The error leaves out line and column: the user does not see that text.
fn read_json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Answer<T> {
    serde_json::from_slice(body).map_err(|error| {
        let text = error.to_string();
        let words = text.rsplit_once(" at line ").map_or(&*text, |(words, _)| words);
        Refusal(StatusCode::UNPROCESSABLE_ENTITY, words.to_owned())
    })
}

/// The run whose number is in a path.
fn found(shared: &Shared, number: usize) -> Answer<Arc<Run>> {
    let none =
        || Refusal(StatusCode::NOT_FOUND, format!("there is no run {number} in this session"));
    shared.runs.get(number).ok_or_else(none)
}

async fn feed(
    State(shared): Our,
    Path((_, number)): Path<(String, usize)>,
    headers: HeaderMap,
) -> Answer<Response> {
    let run = found(&shared, number)?;
    let changes = run.changes();
    // A browser that was dropped reconnects with the number of the last line that it has.
    let last =
        headers.get("last-event-id").and_then(|last| last.to_str().ok()?.parse::<u64>().ok());
    let next = last.map_or(0, |last| last.saturating_add(1));
    let viewer = Viewer { run, changes, next, is_done: false };
    let stream = futures_util::stream::unfold(viewer, Viewer::more);
    let head = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((head, Body::from_stream(stream)).into_response())
}

/// A browser that watches a run, with its own position among the lines: a slow one delays nobody else.
struct Viewer {
    run: Arc<Run>,
    changes: watch::Receiver<u64>,
    /// The number of the next line that it gets.
    next: u64,
    is_done: bool,
}

impl Viewer {
    /// The next lines as soon as there are any, or a sign of life; `None` after the last line.
    async fn more(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.is_done {
            return None;
        }
        // Marked before the lines are read, so that a line that arrives in between wakes the viewer.
        self.changes.mark_unchanged();
        let (mut lines, mut is_end) = self.run.lines(self.next);
        if lines.is_empty() && !is_end {
            // `changed` cannot fail: its sender lives as long as the run, which `self` holds.
            let changed = tokio::time::timeout(SIGN_OF_LIFE, self.changes.changed()).await;
            if changed.is_err() {
                return Some((Ok(Bytes::from_static(b": still here\n\n")), self));
            }
            (lines, is_end) = self.run.lines(self.next);
        }
        let mut text = String::new();
        for line in &lines {
            // A line is JSON without a line end, so that it fits into one `data` field of an event.
            text += &format!("id: {}\ndata: {}\n\n", line.number, line.text);
        }
        self.next = lines.last().map_or(self.next, |line| line.number + 1);
        self.is_done = is_end;
        Some((Ok(text.into()), self))
    }
}

#[derive(Deserialize)]
struct WantedRate {
    rate: Rate,
}

async fn rate(
    State(shared): Our,
    Path((_, number)): Path<(String, usize)>,
    body: Bytes,
) -> Answer<StatusCode> {
    let WantedRate { rate } = read_json(&body)?;
    told(&shared, number, &serde_json::json!({ "rate": rate }).to_string())
}

async fn stop(State(shared): Our, Path((_, number)): Path<(String, usize)>) -> Answer<StatusCode> {
    told(&shared, number, STOP)
}

fn told(shared: &Shared, number: usize, command: &str) -> Answer<StatusCode> {
    let run = found(shared, number)?;
    let refused = |words: &str| Err(Refusal(StatusCode::CONFLICT, words.to_owned()));
    match run.tell(command) {
        true => Ok(StatusCode::NO_CONTENT),
        false if run.is_over() => refused("the run is over"),
        false => refused("the run has not read earlier commands yet"),
    }
}

/// A filter as the page sends it; an empty field is left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    experiment: String,
    machine: String,
    target: String,
    tag: String,
    verdict: String,
    limit: Option<u32>,
}

impl Wanted {
    fn filter(self) -> Answer<Filter> {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let levels = [Level::Trusted, Level::Degraded, Level::Invalid];
        let verdict = some(self.verdict).map(|name| {
            let known = levels.into_iter().find(|level| level.name() == name);
            let what = || format!("verdict: {name}: there are trusted, degraded and invalid");
            known.ok_or_else(|| Refusal(StatusCode::BAD_REQUEST, what()))
        });
        Ok(Filter {
            experiment: some(self.experiment),
            machine: some(self.machine),
            name: None,
            tag: some(self.tag),
            target: some(self.target),
            verdict: verdict.transpose()?,
            limit: self.limit,
        })
    }
}

async fn listed(
    shared: Arc<Shared>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Answer<Vec<Entry>> {
    let Query(wanted) = wanted.map_err(|error| Refusal(error.status(), error.body_text()))?;
    let filter = wanted.filter()?;
    let list = move |store: &mut dyn Store| store.list(&filter).map_err(unreadable);
    Ok(in_history(shared, list).await?.unwrap_or_default())
}

async fn history(
    State(shared): Our,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Answer<Json<Vec<Entry>>> {
    listed(shared, wanted).await.map(Json)
}

async fn trends(
    State(shared): Our,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Answer<impl IntoResponse> {
    let entries = listed(shared, wanted).await?;
    Ok(Json(blocking(move || record::trends(&entries)).await?))
}

async fn report(State(shared): Our, Path((_, id)): Path<(String, String)>) -> Answer<Response> {
    let read = in_history(shared, move |store| read(store, &id)).await?;
    let record = read.ok_or_else(none_yet)?;
    shown(move || report::html(&record)).await
}

async fn compared(
    State(shared): Our,
    Path((_, base, id)): Path<(String, String, String)>,
) -> Answer<Response> {
    let both = move |store: &mut dyn Store| Ok((read(store, &base)?, read(store, &id)?));
    let (base, record) = in_history(shared, both).await?.ok_or_else(none_yet)?;
    shown(move || report::compare_html(&base, &record)).await
}

/// Responds with the report that `draw` makes. Its policy allows it to display itself, but not to request anything.
async fn shown(draw: impl FnOnce() -> String + Send + 'static) -> Answer<Response> {
    let page = blocking(draw).await?;
    let policy = [(header::CONTENT_SECURITY_POLICY, page::REPORT_POLICY)];
    Ok((policy, Html(page)).into_response())
}

/// The record that a user means by `name`.
fn read(store: &mut dyn Store, name: &str) -> Answer<RunRecord> {
    let entry = store.find(name).map_err(|error| match error {
        NameError::Store(error) => unreadable(error),
        NameError::Ambiguous { .. } | NameError::None { .. } => {
            Refusal(StatusCode::NOT_FOUND, error.to_string())
        }
    })?;
    let json = store.json(&entry.id).map_err(unreadable)?;
    let none = || Refusal(StatusCode::NOT_FOUND, format!("the history has no record {name}"));
    RunRecord::from_json(&json.ok_or_else(none)?).map_err(unreadable)
}

/// Calls `work` with the history; `None`: there is none yet.
async fn in_history<T: Send + 'static>(
    shared: Arc<Shared>,
    work: impl FnOnce(&mut dyn Store) -> Answer<T> + Send + 'static,
) -> Answer<Option<T>> {
    let done = blocking(move || match (shared.history)().map_err(unreadable)? {
        Some(mut store) => work(&mut *store).map(Some),
        None => Ok(None),
    });
    done.await?
}

/// The refusal of a request when the history, or a record in it, cannot be read.
fn unreadable(error: impl ToString) -> Refusal {
    Refusal(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

/// The refusal of a request for a record while there is no history.
fn none_yet() -> Refusal {
    Refusal(StatusCode::NOT_FOUND, "nothing was measured in this folder yet".to_owned())
}

/// Runs `work`, which may block, on another thread, so that other requests go on.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    let failed = |_| {
        Refusal(StatusCode::INTERNAL_SERVER_ERROR, "wirebench has a bug: see stderr".to_owned())
    };
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// The longest silence towards a viewer. The sign of life that is sent after it fails if the viewer is gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
