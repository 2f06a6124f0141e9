//! The endpoints and their SQL.

use axum::{
    Json, Router,
    extract::{Path, Query, State, rejection::JsonRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use deadpool_postgres::{Pool, PoolError};
use serde::Deserialize;
use serde_json::json;

use crate::clienti::{Cliente, Columns, Object};

const PAGE_SIZE: i64 = 50;

const SELECT_ONE: &str = "SELECT id, ragione_sociale, citta, email, saldo, creato \
     FROM clienti WHERE id = $1";
const SELECT_PAGE: &str = "SELECT id, ragione_sociale, citta, email, saldo, creato \
     FROM clienti ORDER BY id LIMIT $1 OFFSET $2";
const INSERT_BATCH: &str = "INSERT INTO clienti (ragione_sociale, citta, email, saldo, creato) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::numeric[], $5::timestamp[])";

pub fn router(pool: Pool) -> Router {
    Router::new()
        .route("/ping", get(ping))
        .route("/clienti", get(list))
        .route("/clienti/{id}", get(read))
        .route("/clienti/batch", post(insert))
        .with_state(pool)
}

async fn ping() -> Response {
    Json(json!({ "ok": true })).into_response()
}

async fn read(State(pool): State<Pool>, Path(id): Path<String>) -> Result<Json<Cliente>, Failure> {
    let id = positive(&id).ok_or(Failure::BadRequest(
        "the id is not a positive integer".into(),
    ))?;
    let client = pool.get().await?;
    let statement = client.prepare_cached(SELECT_ONE).await?;
    let row = client.query_opt(&statement, &[&id]).await?;
    let row = row.ok_or(Failure::NotFound)?;
    Ok(Json(Cliente::try_from(&row)?))
}

#[derive(Deserialize)]
struct Page {
    pagina: Option<String>,
}

async fn list(
    State(pool): State<Pool>,
    Query(page): Query<Page>,
) -> Result<Json<Vec<Cliente>>, Failure> {
    let page = page.pagina.map_or(Some(1), |text| positive(&text));
    let page = page.ok_or(Failure::BadRequest(
        "pagina is not a positive integer".into(),
    ))?;
    let offset = (page - 1).saturating_mul(PAGE_SIZE);
    let client = pool.get().await?;
    let statement = client.prepare_cached(SELECT_PAGE).await?;
    let rows = client.query(&statement, &[&PAGE_SIZE, &offset]).await?;
    let rows: Result<_, _> = rows.iter().map(Cliente::try_from).collect();
    Ok(Json(rows?))
}

async fn insert(
    State(pool): State<Pool>,
    body: Result<Json<Vec<Object>>, JsonRejection>,
) -> Result<Response, Failure> {
    let Json(rows) = body?;
    let columns: Columns = rows.into_iter().collect();
    let client = pool.get().await?;
    let statement = client.prepare_cached(INSERT_BATCH).await?;
    // One statement is one transaction.
    let inserted = client
        .execute(
            &statement,
            &[
                &columns.ragione_sociale,
                &columns.citta,
                &columns.email,
                &columns.saldo,
                &columns.creato,
            ],
        )
        .await?;
    Ok(Json(json!({ "inserted": inserted })).into_response())
}

/// The digits only, where str::parse takes a sign too.
fn positive(text: &str) -> Option<i64> {
    if text.starts_with('+') {
        return None;
    }
    text.parse().ok().filter(|number| *number > 0)
}

pub fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

pub enum Failure {
    BadRequest(String),
    NotFound,
    Rejected(JsonRejection),
    Database(String),
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::BadRequest(message) => error(StatusCode::BAD_REQUEST, &message),
            Self::NotFound => error(StatusCode::NOT_FOUND, "no such row"),
            // axum tells JSON of the wrong form (422) from what is no JSON.
            Self::Rejected(JsonRejection::JsonDataError(e)) => {
                error(StatusCode::BAD_REQUEST, &e.body_text())
            }
            Self::Rejected(rejection) => error(rejection.status(), &rejection.body_text()),
            Self::Database(message) => {
                eprintln!("the database failed: {message}");
                error(StatusCode::INTERNAL_SERVER_ERROR, "the database failed")
            }
        }
    }
}

impl From<JsonRejection> for Failure {
    fn from(rejection: JsonRejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<PoolError> for Failure {
    fn from(e: PoolError) -> Self {
        Self::Database(e.to_string())
    }
}

impl From<tokio_postgres::Error> for Failure {
    /// PostgreSQL refused the data when its SQLSTATE is of class 22 or 23;
    /// anything else is not the client's fault.
    fn from(e: tokio_postgres::Error) -> Self {
        match e.as_db_error() {
            Some(refused)
                if refused.code().code().starts_with("22")
                    || refused.code().code().starts_with("23") =>
            {
                Self::BadRequest(refused.message().into())
            }
            Some(failure) => Self::Database(failure.to_string()),
            None => Self::Database(e.to_string()),
        }
    }
}
