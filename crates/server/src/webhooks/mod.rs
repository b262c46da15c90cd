//! Deliveries to webhooks: signed, sent, and what came back; and their addresses, sealed. What is said and when it is tried again
//! is [`fermi_domain::webhook`]'s; the loop that does it is [`crate::reconcilers`]'.

mod resolver;
mod sealing;
mod sender;
mod signature;

pub use sealing::{seal_old, sealed_elsewhere};
pub use sender::{Letter, WebhookSender};
