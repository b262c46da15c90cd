//! `options.framework`: the settings that a framework knows, read with their kinds.

use std::collections::BTreeMap;

use fermi_domain::{framework::Framework, language::Text};
use serde_json::{Map, Value};

use crate::refusal::LaunchRefusal;

/// One setting of a framework, for documents and forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    zh: &'static str,
    en: &'static str,
}

impl Setting {
    pub(crate) const fn new(name: &'static str, zh: &'static str, en: &'static str) -> Self {
        Self { name, zh, en }
    }

    /// What it does.
    pub fn about(&self) -> Text {
        Text::new(self.zh, self.en)
    }
}

/// The settings that a user gave, each known to the framework.
#[derive(Clone, Debug)]
pub(crate) struct Settings<'a> {
    /// What stands before a key in messages, such as `deepspeed.` for a section within a section.
    prefix: &'static str,
    values: BTreeMap<String, &'a Value>,
}

impl<'a> Settings<'a> {
    /// Takes the user's keys in both spellings, `zeroStage` and `zero_stage`; refuses what the framework does not know.
    pub(crate) fn read(
        framework: Framework,
        prefix: &'static str,
        known: &[&[Setting]],
        given: &'a Map<String, Value>,
    ) -> Result<Self, LaunchRefusal> {
        let names: Vec<&'static str> = known.iter().copied().flatten().map(|setting| setting.name).collect();
        let mut values = BTreeMap::new();
        for (key, value) in given {
            let name = in_camel_case(key);
            if !names.contains(&name.as_str()) {
                let suggestion = elsewhere(&name, &names).or_else(|| nearest(&name, names.iter().copied()));
                let suggestion = suggestion.map(str::to_owned);
                let key = format!("{prefix}{key}");
                return Err(LaunchRefusal::SettingUnknown { framework, key, suggestion, known: names });
            }
            // A null stands for "not given", as in the rest of the request.
            if !value.is_null() && values.insert(name.clone(), value).is_some() {
                return Err(LaunchRefusal::SettingTwice { key: format!("{prefix}{name}") });
            }
        }
        Ok(Self { prefix, values })
    }

    /// These, with what stands elsewhere where they say nothing.
    pub(crate) fn with_usual<'b>(&self, usual: &'b Map<String, Value>) -> Settings<'b>
    where
        'a: 'b,
    {
        let mut values: BTreeMap<String, &'b Value> = usual.iter().map(|(name, value)| (name.clone(), value)).collect();
        values.extend(self.values.iter().map(|(name, value)| (name.clone(), *value)));
        Settings { prefix: self.prefix, values }
    }

    /// The names of those that were given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The key as messages name it.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A whole number of at least `least`.
    pub(crate) fn count_from(&self, name: &str, least: u64) -> Result<Option<u64>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        // Batch sizes and bucket sizes stay far below this; above it sums would overflow and JSON would lose digits.
        const MOST: u64 = 1 << 52;
        let whole = value.as_u64().or_else(|| whole_float(value));
        whole.filter(|number| (least..=MOST).contains(number)).map(Some).ok_or_else(|| {
            let wanted = if value.as_f64().is_some_and(|number| number > MOST as f64) {
                Text::new(format!("不大于 {MOST} 的整数"), format!("a whole number of at most {MOST}"))
            } else {
                Text::new(format!("不小于 {least} 的整数"), format!("a whole number of at least {least}"))
            };
            self.refused(name, value, wanted)
        })
    }

    /// A whole number of at least 1.
    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>, LaunchRefusal> {
        self.count_from(name, 1)
    }

    /// A number that is not negative.
    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        value
            .as_f64()
            .filter(|number| number.is_finite() && *number >= 0.0)
            .map(Some)
            .ok_or_else(|| self.refused(name, value, Text::new("不小于 0 的数", "a number of at least 0")))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        // A text comes from a command line, where Python's words are at home too.
        let in_words = || match value.as_str()?.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        let flag = value.as_bool().or_else(in_words);
        flag.map(Some).ok_or_else(|| self.refused(name, value, Text::new(" true 或 false", "true or false")))
    }

    /// A text that can stand in an argument or a variable.
    pub(crate) fn word(&self, name: &str) -> Result<Option<&'a str>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        value
            .as_str()
            .filter(|text| !text.is_empty() && !text.contains('\0'))
            .map(Some)
            .ok_or_else(|| self.refused(name, value, Text::new("非空文本", "a text that is not empty")))
    }

    /// Words, as a list or with commas between them.
    pub(crate) fn words(&self, name: &str) -> Result<Option<Vec<String>>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let words: Option<Vec<&str>> = match value {
            Value::String(text) => Some(text.split(',').collect()),
            Value::Array(list) => list.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let fine = |word: &&str| !word.is_empty() && !word.contains(['\0', ',']);
        let words = words.map(|words| words.into_iter().map(str::trim).collect::<Vec<_>>());
        let words = words.filter(|words| !words.is_empty() && words.iter().all(fine));
        words.map(|words| Some(words.into_iter().map(str::to_owned).collect())).ok_or_else(|| {
            self.refused(
                name,
                value,
                Text::new("名称的列表，例如 [\"A\",\"B\"]", "a list of names, such as [\"A\",\"B\"]"),
            )
        })
    }

    /// One of some words, in any case.
    pub(crate) fn choice(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let found = value.as_str().and_then(|given| words.iter().find(|word| word.eq_ignore_ascii_case(given)));
        found.copied().map(Some).ok_or_else(|| {
            self.refused(
                name,
                value,
                Text::new(format!(" {} 之一", words.join("、")), format!("one of {}", words.join(", "))),
            )
        })
    }

    /// A number for each of a list, such as Adam's betas.
    pub(crate) fn pair(&self, name: &str) -> Result<Option<[f64; 2]>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let wanted = Text::new("两个数的列表，例如 [0.9,0.95]", "a list of two numbers, such as [0.9,0.95]");
        let numbers: Option<Vec<f64>> = value.as_array().map(|list| list.iter().filter_map(Value::as_f64).collect());
        numbers.and_then(|numbers| numbers.try_into().ok()).map(Some).ok_or_else(|| self.refused(name, value, wanted))
    }

    /// A section of its own.
    pub(crate) fn section(&self, name: &str) -> Result<Option<&'a Map<String, Value>>, LaunchRefusal> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        value.as_object().map(Some).ok_or_else(|| self.refused(name, value, Text::new("对象", "an object")))
    }

    /// Whether the user said anything about it.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(crate) fn refused(&self, name: &str, given: &Value, wanted: Text) -> LaunchRefusal {
        LaunchRefusal::SettingInvalid { key: self.key(name), given: given.to_string(), wanted }
    }
}

/// 2e8 is written as a float and meant as a whole number.
fn whole_float(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=9e15).contains(number))?;
    format!("{number:.0}").parse().ok()
}

/// `zero_stage` is `zeroStage`.
pub(crate) fn in_camel_case(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    let mut upper = false;
    for letter in key.chars() {
        match letter {
            '_' | '-' if !name.is_empty() => upper = true,
            letter if upper => {
                name.extend(letter.to_uppercase());
                upper = false;
            }
            letter => name.push(letter),
        }
    }
    name
}

/// What engines and their files call the same thing.
const ELSEWHERE: &[(&str, &str)] = &[
    ("trainBatchSize", "globalBatchSize"),
    ("effectiveBatchSize", "globalBatchSize"),
    ("trainMicroBatchSizePerGpu", "microBatchSize"),
    ("perDeviceTrainBatchSize", "microBatchSize"),
    ("batchSize", "microBatchSize"),
    ("accumulationSteps", "gradientAccumulationSteps"),
    ("maxGradNorm", "gradientClipping"),
    ("lr", "learningRate"),
    ("warmupNumSteps", "warmupSteps"),
    ("totalNumSteps", "totalSteps"),
    ("maxSteps", "totalSteps"),
    ("stage", "zeroStage"),
    ("mixedPrecision", "precision"),
    ("dtype", "precision"),
    ("fp16", "precision"),
    ("bf16", "precision"),
    ("autoWrapPolicy", "wrapPolicy"),
    ("transformerLayerClsToWrap", "transformerLayers"),
];

/// The framework's name for what goes by another one elsewhere.
fn elsewhere(given: &str, known: &[&'static str]) -> Option<&'static str> {
    let found = ELSEWHERE.iter().find(|(name, _)| name.eq_ignore_ascii_case(given))?.1;
    known.contains(&found).then_some(found)
}

/// The known name that was probably meant; none when all are far.
pub(crate) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    known
        .map(|name| (strsim::jaro_winkler(&given, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
