//! Deliveries to webhooks: signed, sent, and what came back. What is said and when it is tried again is
//! [`fermi_domain::webhook`]'s; the loop that does it is [`crate::reconcilers`]'.

mod sender;
mod signature;

pub use sender::{Letter, WebhookSender};
