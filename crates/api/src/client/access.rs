//! Sessions, users, tokens and secrets.

use super::{API, ApiAnswer, Client, ClientError, Query, segment};
use crate::v1::{
    ChangeUser, CreateToken, CreateUser, Empty, Event, LinkUser, LogIn, LoggedOut, MadeToken, Page, Secret, Session,
    SetPassword, SetSecret, Token, User,
};

type Got<T> = Result<ApiAnswer<T>, ClientError>;

impl Client {
    pub fn log_in(&self, request: &LogIn) -> Got<Session> {
        self.post(&format!("{API}/session"), request)
    }

    /// On whose behalf this client asks.
    pub fn session(&self) -> Got<Session> {
        self.get(&format!("{API}/session"), &Query::new())
    }

    /// Revokes the token of this client.
    pub fn log_out(&self) -> Got<LoggedOut> {
        self.delete(&format!("{API}/session"), &Query::new())
    }

    pub fn users(&self) -> Got<Page<User>> {
        self.get(&format!("{API}/users"), &Query::new())
    }

    pub fn add_user(&self, request: &CreateUser) -> Got<User> {
        self.post(&format!("{API}/users"), request)
    }

    pub fn change_user(&self, name: &str, request: &ChangeUser) -> Got<Empty> {
        self.patch(&user_path(name, ""), request)
    }

    pub fn remove_user(&self, name: &str) -> Got<Empty> {
        self.delete(&user_path(name, ""), &Query::new())
    }

    pub fn set_password(&self, name: &str, request: &SetPassword) -> Got<Empty> {
        self.post(&user_path(name, "/password"), request)
    }

    pub fn link_user(&self, name: &str, request: &LinkUser) -> Got<Empty> {
        self.post(&user_path(name, "/link"), request)
    }

    pub fn tokens(&self) -> Got<Page<Token>> {
        self.get(&format!("{API}/tokens"), &Query::new())
    }

    pub fn create_token(&self, request: &CreateToken) -> Got<MadeToken> {
        self.post(&format!("{API}/tokens"), request)
    }

    pub fn revoke_token(&self, id: &str) -> Got<Empty> {
        self.delete(&format!("{API}/tokens/{}", segment(id)), &Query::new())
    }

    pub fn secrets(&self) -> Got<Page<Secret>> {
        self.get(&format!("{API}/secrets"), &Query::new())
    }

    pub fn set_secret(&self, request: &SetSecret) -> Got<Secret> {
        self.post(&format!("{API}/secrets"), request)
    }

    /// Deletes one that is shared, or the owner's; one's own where none is named.
    pub fn delete_secret(&self, name: &str, shared: bool, owner: Option<&str>) -> Got<Empty> {
        let query = Query::new().with_some("shared", shared.then_some("true")).with_some("owner", owner);
        self.delete(&format!("{API}/secrets/{}", segment(name)), &query)
    }

    /// Events of the whole cluster.
    pub fn events(&self, query: &Query) -> Got<Page<Event>> {
        self.get(&format!("{API}/events"), query)
    }
}

fn user_path(name: &str, rest: &str) -> String {
    format!("{API}/users/{}{rest}", segment(name))
}
