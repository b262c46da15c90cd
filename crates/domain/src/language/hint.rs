//! What to do about something, with settings that each front end spells its own way.

use std::borrow::Cow;

use super::{FrontEnd, Language, Setting, Text};

/// An advice. Settings stand in it as [`Setting`]s, so that it can be read only as [`spelled`](Self::spelled) for a front
/// end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint(Box<Sentences>);

/// Boxed, so that an error with a hint is not a burden to every result.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sentences {
    everywhere: Text,
    command_line: Option<Text>,
}

impl Hint {
    /// The same advice for every reader; settings are written into it by `format!("… {} …", Setting::MaxRestarts)`.
    pub fn new(zh: impl Into<Cow<'static, str>>, en: impl Into<Cow<'static, str>>) -> Self {
        Text::new(zh, en).into()
    }

    /// Another advice for the command line, where readers have other means than on a page: they start nodes themselves.
    #[must_use]
    pub fn on_command_line(mut self, zh: impl Into<Cow<'static, str>>, en: impl Into<Cow<'static, str>>) -> Self {
        self.0.command_line = Some(Text::new(zh, en));
        self
    }

    /// To look at these settings; none where there are none. A reader is told of those alone that the front end has.
    pub fn check(settings: &[Setting]) -> Option<Self> {
        let check = |front_end: FrontEnd| {
            let known: Vec<String> =
                settings.iter().filter(|it| it.exists_at(front_end)).map(Setting::to_string).collect();
            let sentence = Text::new(format!("检查 {}", known.join("、")), format!("check {}", known.join(", ")));
            (!known.is_empty()).then_some(sentence)
        };
        let command_line = check(FrontEnd::CommandLine)?;
        // A task's fields and a page's labels are the same settings.
        let everywhere = check(FrontEnd::Api).unwrap_or_else(|| {
            Text::new(
                "重新启动任务；若再次出现，查看各节点上的 fermi agent",
                "start the task again; if it happens again, look at fermi agent on the nodes",
            )
        });
        Some(Self(Box::new(Sentences { everywhere, command_line: Some(command_line) })))
    }

    /// The settings that it names, for a caller that stores the advice and spells it later.
    pub fn settings(&self) -> Vec<Setting> {
        let Sentences { everywhere, command_line } = &*self.0;
        let sentences = command_line.iter().chain([everywhere]);
        let mut named = Vec::new();
        for setting in sentences.flat_map(|sentence| sentence.en.chars()).filter_map(Setting::of_mark) {
            if !named.contains(&setting) {
                named.push(setting);
            }
        }
        named
    }

    /// The sentence for readers at this front end.
    pub fn spelled(&self, front_end: FrontEnd) -> Text {
        let Sentences { everywhere, command_line } = &*self.0;
        let own = command_line.as_ref().filter(|_| front_end == FrontEnd::CommandLine);
        let Text { zh, en } = own.unwrap_or(everywhere);
        Text::new(spelled(zh, front_end, Language::ZhCn), spelled(en, front_end, Language::En))
    }
}

impl From<Text> for Hint {
    fn from(everywhere: Text) -> Self {
        Self(Box::new(Sentences { everywhere, command_line: None }))
    }
}

fn spelled(sentence: &str, front_end: FrontEnd, language: Language) -> String {
    let mut out = String::with_capacity(sentence.len() + 16);
    for letter in sentence.chars() {
        match Setting::of_mark(letter) {
            Some(setting) => out.push_str(&setting.spelled(front_end, language)),
            None => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_spelled_as_the_reader_knows_it() {
        let restarts = Setting::MaxRestarts;
        let hint = Hint::new(format!("提高 {restarts}"), format!("raise {restarts}"));
        assert_eq!(hint.spelled(FrontEnd::CommandLine).en, "raise --max-restarts");
        assert_eq!(hint.spelled(FrontEnd::Api).en, "raise policies.restart.maxRestarts");
        assert_eq!(hint.spelled(FrontEnd::Console), Text::new("提高 “最大重启次数”", "raise 'Max restarts'"));
    }

    #[test]
    fn a_reader_is_not_told_of_settings_that_the_front_end_does_not_have() {
        let both = [Setting::MasterPort, Setting::NodeRank];
        let hint = Hint::check(&both).unwrap();
        assert_eq!(hint.spelled(FrontEnd::CommandLine).en, "check --master-port, --node-rank");
        assert_eq!(hint.spelled(FrontEnd::Api).en, "check options.masterPort");
        assert_eq!(hint.spelled(FrontEnd::Console).zh, "检查 “主节点端口”");
        assert_eq!(hint.settings(), both);
        let secret = Hint::check(&[Setting::RendezvousSecret]).unwrap();
        assert_eq!(secret.spelled(FrontEnd::CommandLine).en, "check --rdzv-secret");
        for front_end in [FrontEnd::Api, FrontEnd::Console] {
            assert!(!secret.spelled(front_end).en.contains("ecret"));
        }
        assert_eq!(Hint::check(&[]), None);
    }

    #[test]
    fn the_command_line_may_have_a_sentence_of_its_own() {
        let hint = Hint::new("检查代理", "look at the agents").on_command_line("检查参数", "look at the flags");
        assert_eq!(hint.spelled(FrontEnd::CommandLine).en, "look at the flags");
        for front_end in [FrontEnd::Api, FrontEnd::Console] {
            assert_eq!(hint.spelled(front_end).zh, "检查代理");
        }
    }
}
