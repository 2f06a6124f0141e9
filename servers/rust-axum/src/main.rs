//! The test server of restbench's contract in Rust: axum, tokio-postgres and
//! a deadpool.

mod api;
mod auth;
mod clienti;

use std::{env, error::Error, io, str::FromStr, time::Duration};

use axum::{Router, middleware, serve::ListenerExt};
use deadpool_postgres::{Manager, Pool};
use tokio::{net::TcpListener, signal::unix, sync::watch};
use tokio_postgres::NoTls;

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut app = api::router(open_pool()?);
    if let Some(secret) = variable("JWT_SECRET") {
        let key = auth::Key::new(secret.as_bytes());
        app = app.layer(middleware::from_fn_with_state(key, auth::require_token));
    }
    let host = variable("HOST").unwrap_or_else(|| "127.0.0.1".into());
    let port = number("PORT", 8080)?;
    let listener = TcpListener::bind((host, port)).await?;
    serve(listener, app).await?;
    Ok(())
}

async fn serve(listener: TcpListener, app: Router) -> io::Result<()> {
    let (stopping, mut stopped) = watch::channel(false);
    let mut sigterm = unix::signal(unix::SignalKind::terminate())?;
    let mut sigint = unix::signal(unix::SignalKind::interrupt())?;
    // A peer may be gone before the option is set; its read will tell.
    let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
    let server = axum::serve(listener, app).with_graceful_shutdown(async move {
        tokio::select! {
            _ = sigterm.recv() => {}
            _ = sigint.recv() => {}
        }
        _ = stopping.send(true);
    });
    let out_of_patience = async {
        _ = stopped.wait_for(|stopping| *stopping).await;
        tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    };
    tokio::select! {
        result = server => result,
        () = out_of_patience => Ok(()),
    }
}

fn open_pool() -> Result<Pool, Box<dyn Error>> {
    let url = variable("DATABASE_URL").ok_or("DATABASE_URL is not set")?;
    let config = url.parse().map_err(|e| format!("DATABASE_URL: {e}"))?;
    let size = number("DB_POOL", 16)?;
    Ok(Pool::builder(Manager::new(config, NoTls))
        .max_size(size)
        .build()?)
}

fn number<T: FromStr>(name: &str, otherwise: T) -> Result<T, String> {
    variable(name).map_or(Ok(otherwise), |value| {
        value
            .parse()
            .map_err(|_| format!("{name}: not a number that fits: {value}"))
    })
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
