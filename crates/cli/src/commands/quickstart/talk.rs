//! The conversation. Every question has a default; an empty line takes it, and the end of the input ends it all.

use std::io::BufRead;

use fermi_domain::language::Language;
use fermi_domain::messages::quickstart::{Question, QuickstartNews, Scenario, troubles};

use super::recipe::{self, Abilities, Answers};

/// Somebody to talk to: lines from here, text to there.
pub struct Talk<R, W> {
    input: R,
    say: W,
    language: Language,
}

impl<R: BufRead, W: FnMut(&str)> Talk<R, W> {
    pub fn new(input: R, say: W, language: Language) -> Self {
        Self { input, say, language }
    }

    /// Asks all there is to ask; the command if it is to be run.
    pub fn hold(mut self, named: Option<Scenario>, answers: Answers, abilities: Abilities) -> Option<Vec<String>> {
        let scenario = match named {
            Some(scenario) => scenario,
            None => self.choose(abilities)?,
        };
        if scenario == Scenario::Trouble {
            let text = troubleshooting(self.language);
            self.line(&text);
            return None;
        }
        let answers = self.questions(scenario, answers, abilities)?;
        let command = recipe::command(scenario, &answers, abilities);
        self.show(scenario, &command, &answers, abilities);
        let reply = self.ask(Question::RunIt, "")?;
        matches!(reply.to_lowercase().as_str(), "y" | "yes" | "是" | "好").then_some(command)
    }

    fn choose(&mut self, abilities: Abilities) -> Option<Scenario> {
        let offered: Vec<Scenario> = Scenario::ALL.into_iter().filter(|scenario| abilities.has(*scenario)).collect();
        let welcome = QuickstartNews::Welcome.text();
        self.line(welcome.in_language(self.language));
        for (index, scenario) in offered.iter().enumerate() {
            let row = format!("  {}) {}", index + 1, scenario.title().in_language(self.language));
            self.line(&row);
        }
        loop {
            let given = self.ask(Question::Choice, "1")?;
            if ["q", "quit", "exit"].contains(&given.as_str()) {
                return None;
            }
            let chosen = given.parse::<usize>().ok().and_then(|number| offered.get(number.checked_sub(1)?));
            let by_name = || offered.iter().find(|scenario| scenario.name() == given);
            if let Some(scenario) = chosen.or_else(by_name) {
                return Some(*scenario);
            }
            let no = QuickstartNews::NotAChoice { given, most: offered.len() }.text();
            self.line(no.in_language(self.language));
        }
    }

    fn questions(&mut self, scenario: Scenario, mut answers: Answers, abilities: Abilities) -> Option<Answers> {
        if matches!(scenario, Scenario::Test | Scenario::Trouble) {
            return Some(answers);
        }
        answers.script = self.ask(Question::Script, &answers.script)?;
        let is_several = scenario != Scenario::Single;
        if is_several {
            answers.nodes = self.number(Question::Nodes, answers.nodes)?;
        }
        answers.gpus = self.ask(Question::Gpus, &answers.gpus)?;
        if matches!(scenario, Scenario::Several | Scenario::Ssh) {
            answers.master = self.ask(Question::Master, &answers.master)?;
            answers.port = u16::try_from(self.number(Question::Port, u32::from(answers.port))?).unwrap_or(answers.port);
        }
        match scenario {
            Scenario::Several => answers.node_rank = self.number_from(Question::NodeRank, answers.node_rank, 0)?,
            Scenario::Ssh => answers.hosts = self.ask(Question::Hosts, &answers.hosts)?,
            Scenario::Single | Scenario::Slurm | Scenario::Test | Scenario::Trouble => {}
        }
        debug_assert!(abilities.has(scenario), "only what is there is offered");
        Some(answers)
    }

    fn show(&mut self, scenario: Scenario, command: &[String], answers: &Answers, abilities: Abilities) {
        let title = QuickstartNews::Command.text();
        self.line(&format!("\n{}\n  {}\n", title.in_language(self.language), recipe::line(command)));
        for (word, text) in recipe::reasons(command) {
            self.line(&format!("  {word:<18} {}", text.in_language(self.language)));
        }
        if let Some(told) = recipe::left_out(scenario, answers) {
            self.line(&format!("\n{}", told.in_language(self.language)));
        }
        if scenario == Scenario::Several {
            let title = QuickstartNews::OtherMachines.text();
            self.line(&format!("\n{}", title.in_language(self.language)));
            for node_rank in (0..answers.nodes.min(8)).filter(|rank| *rank != answers.node_rank) {
                let other = Answers { node_rank, ..answers.clone() };
                self.line(&format!("  {}", recipe::line(&recipe::command(scenario, &other, abilities))));
            }
        }
        self.line("");
    }

    fn number(&mut self, question: Question, default: u32) -> Option<u32> {
        self.number_from(question, default, 1)
    }

    fn number_from(&mut self, question: Question, default: u32, least: u32) -> Option<u32> {
        loop {
            let given = self.ask(question, &default.to_string())?;
            match given.parse() {
                Ok(number) if number >= least => return Some(number),
                _ => {
                    let no = QuickstartNews::NotANumber { given }.text();
                    self.line(no.in_language(self.language));
                }
            }
        }
    }

    /// The answer, or the default; none at the end of the input.
    fn ask(&mut self, question: Question, default: &str) -> Option<String> {
        let text = question.text();
        let text = text.in_language(self.language);
        match default {
            "" => (self.say)(&format!("{text}: ")),
            default => (self.say)(&format!("{text} [{default}]: ")),
        }
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) if line.trim().is_empty() => Some(default.to_owned()),
            Ok(_) => Some(line.trim().to_owned()),
        }
    }

    fn line(&mut self, text: &str) {
        (self.say)(&format!("{text}\n"));
    }
}

/// The usual troubles, each with what helps.
pub fn troubleshooting(language: Language) -> String {
    let mut text = String::new();
    for trouble in troubles() {
        let (what, help) = (trouble.what.in_language(language), trouble.help.in_language(language));
        text.push_str(&format!("{what}\n  {help}\n"));
        text.extend(trouble.commands.iter().map(|command| format!("    {command}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn held(typed: &str, language: Language) -> (String, Option<String>) {
        held_with(typed, language, Abilities { slurm: false, doctor: false })
    }

    fn held_with(typed: &str, language: Language, abilities: Abilities) -> (String, Option<String>) {
        let command = Answers::augment_args(clap::Command::new("quickstart"));
        let answers = Answers::from_arg_matches(&command.get_matches_from(["quickstart"])).unwrap();
        let mut said = String::new();
        let talk = Talk::new(typed.as_bytes(), |text: &str| said.push_str(text), language);
        let run = talk.hold(None, answers, abilities);
        (said, run.map(|command| recipe::line(&command)))
    }

    #[test]
    fn a_conversation_in_english() {
        let (said, run) = held("9\n2\nmain.py\nthree\n3\n4\ngn6\n\n1\ny\n", Language::En);
        let line =
            "fermi run --nnodes 3 --node-rank 1 --nproc-per-node 4 --master-addr gn6 --master-port 29500 main.py";
        assert_eq!(run.as_deref(), Some(line));
        insta::assert_snapshot!("english", said);
    }

    #[test]
    fn a_conversation_in_chinese_that_runs_nothing() {
        let (said, run) = held("1\n\n8\n\n", Language::ZhCn);
        assert_eq!(run, None);
        insta::assert_snapshot!("chinese", said);
    }

    #[test]
    fn a_job_without_a_number_of_gpus_is_said_to_ask_for_none() {
        let slurm = Abilities { slurm: true, doctor: false };
        let (said, _) = held_with("slurm\n\n\n\n\n", Language::En, slurm);
        assert!(said.contains("'auto' cannot go into the job"), "{said}");
        let (said, _) = held_with("slurm\n\n\n4\n\n", Language::En, slurm);
        assert!(said.contains("--gpus-per-node 4") && !said.contains("cannot go into the job"), "{said}");
    }

    #[test]
    fn who_leaves_in_the_middle_starts_nothing() {
        for typed in ["", "q\n", "1\n", "1\ntrain.py\n4\n"] {
            assert_eq!(held(typed, Language::En).1, None, "{typed:?}");
        }
    }
}
