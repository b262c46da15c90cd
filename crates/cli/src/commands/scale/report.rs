//! What was measured, as people and programs read it: table, CSV, JSON, chart, page.

use std::path::PathBuf;

use fermi_domain::language::{Language, Text};
use fermi_domain::units::Bytes;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::ScaleFlags;
use super::lesson::Lesson;
use super::table::{Line, Scaling, Trial};
use crate::chart::{CurvePoint, Drawing, Labels, Series, curves, escaped};
use crate::speech::{self, Paint};
use crate::table::{Cell, Colour, Table};

/// What is written of a measurement, and where it begins.
pub const TEXTS: [&str; 4] = [RESULT, "scaling.csv", "scaling.svg", "scaling.html"];
pub const PICTURE: &str = "scaling.png";
pub const RESULT: &str = "scaling.json";
/// The planner's constants, where it was taught.
pub const CALIBRATION: &str = "calibration.json";

/// All that a measurement knows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measurement {
    #[serde(serialize_with = "in_english")]
    pub workload: Text,
    pub unit: &'static str,
    /// Where numbers of nodes are compared: their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<String>,
    /// How many processes have a GPU, or a core, of their own.
    pub devices: u64,
    pub has_gpus: bool,
    pub complete: bool,
    pub trials: Vec<Trial>,
    #[serde(rename = "points")]
    pub lines: Vec<Line>,
    pub notes: Vec<Text>,
    #[serde(skip)]
    pub learned: Option<Learned>,
}

/// What the planner has learned, and the file of its constants.
#[derive(Debug)]
pub struct Learned {
    pub lesson: Lesson,
    pub file: PathBuf,
}

impl Learned {
    pub fn constants(&self) -> Value {
        json!(self.lesson.calibration)
    }

    pub fn text(&self) -> Text {
        let Lesson { calibration, device, .. } = &self.lesson;
        let (runs, before, after) = (calibration.runs, calibration.error_before, calibration.error_after);
        let learned = match calibration.is_unchanged() {
            true => Text::new(
                format!("规划器对这 {runs} 次运行的误差（{before:.1} %）在其离散之内，常数不变"),
                format!(
                    "the planner meets these {runs} runs within what runs scatter (mean error {before:.1} %), so that its constants stay"
                ),
            ),
            false => Text::new(
                format!("规划器从 {runs} 次运行中学习：平均误差 {before:.1} % → {after:.1} %"),
                format!("the planner has learned from {runs} runs: mean error {before:.1} % → {after:.1} %"),
            ),
        };
        let file = self.file.display();
        let (zh, en) = match device {
            None => (
                format!("；用法：fermi plan … --calibration {file}"),
                format!("; use it: fermi plan … --calibration {file}"),
            ),
            // A core is no GPU: its rate is what the planner needs for these rows, which carry it.
            Some(device) => {
                let rows = self.file.with_file_name(RESULT);
                let (rate, rows) = (device.tflops, rows.display());
                (
                    format!(
                        "；一个核按 {rate:.3} TFLOP/s 计；用法：fermi plan predict --runs {rows} --calibration {file}"
                    ),
                    format!(
                        "; a core counts as {rate:.3} TFLOP/s; use it: fermi plan predict --runs {rows} --calibration {file}"
                    ),
                )
            }
        };
        Text::new(learned.zh.into_owned() + &zh, learned.en.into_owned() + &en)
    }

    /// For programs; the rows are those that `fermi plan calibrate --runs` takes, without what nobody has said.
    fn json(&self) -> Value {
        let Lesson { calibration, device, .. } = &self.lesson;
        json!({
            "file": self.file,
            "runs": calibration.runs,
            "errorBefore": calibration.error_before,
            "errorAfter": calibration.error_after,
            "deviceTflops": device.map(|device| device.tflops),
            "deviceLinkGbs": device.and_then(|device| device.link.gbs()),
        })
    }

    fn rows(&self) -> Vec<Value> {
        let mut rows: Vec<Value> = self.lesson.rows.iter().map(|row| json!(row)).collect();
        rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| row.retain(|_, value| !value.is_null()));
        rows
    }
}

/// Programs read one language.
fn in_english<S: Serializer>(text: &Text, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text.in_language(Language::En))
}

fn word(language: Language, zh: &'static str, en: &'static str) -> &'static str {
    match language {
        Language::ZhCn => zh,
        Language::En => en,
    }
}

impl Measurement {
    pub fn json(&self) -> Value {
        let mut value = json!(self);
        value["version"] = json!(1);
        value["kind"] = json!("measured");
        if let Some(learned) = &self.learned {
            value["calibration"] = learned.json();
            value["rows"] = json!(learned.rows());
        }
        value
    }

    pub fn csv(&self) -> String {
        let nodes = if self.compares_nodes() { "nodes," } else { "" };
        let mut out = format!(
            "scaling,{nodes}processes,global_batch,runs,speed,unit,spread,memory_bytes,speedup,efficiency,shares_devices,predicted_efficiency\n",
        );
        let maybe = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
        let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        for line in &self.lines {
            out.push_str(&format!(
                "{},{}{},{},{},{:.3},{},{:.4},{},{},{},{},{}\n",
                scaling_name(Language::En, line.scaling),
                line.nodes.map_or_else(String::new, |nodes| format!("{nodes},")),
                line.processes,
                count(line.global_batch),
                line.runs,
                line.speed,
                self.unit,
                line.spread,
                count(line.memory_bytes),
                maybe(line.speedup),
                maybe(line.efficiency),
                line.shares_devices,
                maybe(line.predicted_efficiency),
            ));
        }
        out
    }

    fn compares_nodes(&self) -> bool {
        !self.environments.is_empty()
    }

    fn head(&self, language: Language) -> Vec<String> {
        let device = if self.has_gpus { "GPU" } else { word(language, "进程", "PROCESSES") };
        let mut head = vec![word(language, "扩展", "SCALING").to_owned()];
        head.extend(self.compares_nodes().then(|| word(language, "节点", "NODES").to_owned()));
        head.extend([
            device.to_owned(),
            word(language, "批次", "BATCH").to_owned(),
            format!("{} {}", word(language, "速度", "SPEED"), self.unit),
            word(language, "离散", "SPREAD").to_owned(),
            word(language, "内存", "MEMORY").to_owned(),
            word(language, "加速", "SPEED-UP").to_owned(),
            word(language, "效率", "EFFICIENCY").to_owned(),
            word(language, "预测", "PREDICTED").to_owned(),
        ]);
        head
    }

    fn cells(line: &Line, language: Language) -> Vec<String> {
        let none = || "–".to_owned();
        let percent = |value: f64| format!("{:.0} %", value * 100.0);
        let mut cells = vec![scaling_name(language, line.scaling).to_owned()];
        cells.extend(line.nodes.map(|nodes| nodes.to_string()));
        cells.extend([
            line.processes.to_string(),
            line.global_batch.map_or_else(none, |batch| batch.to_string()),
            format!("{:.1}", line.speed),
            format!("± {:.0} %", line.spread * 50.0),
            line.memory_bytes.map_or_else(none, |bytes| Bytes(bytes).rounded()),
            line.speedup.map_or_else(none, |speedup| format!("{speedup:.2}×")),
            line.efficiency.map_or_else(none, percent),
            line.predicted_efficiency.map_or_else(none, percent),
        ]);
        cells
    }

    pub fn table(&self, language: Language, paint: Paint) -> String {
        let head = self.head(language);
        let mut table = Table::new(head.iter().map(String::as_str));
        for line in &self.lines {
            let colour = if line.shares_devices { Colour::Faint } else { Colour::Plain };
            let cells = Self::cells(line, language).into_iter().enumerate();
            table.row(cells.map(|(at, text)| if at == 0 { Cell::coloured(text, colour) } else { Cell::number(text) }));
        }
        table.render(paint)
    }

    pub fn chart(&self, language: Language) -> Drawing {
        let of = |scaling: Scaling| {
            let own = self.lines.iter().filter(|line| line.scaling == scaling);
            let point = |line: &Line| {
                Some(CurvePoint { gpus: line.count(), speedup: line.speedup?, efficiency: line.efficiency? })
            };
            Series { name: scaling_name(language, scaling).to_owned(), points: own.filter_map(point).collect() }
        };
        let forecast = |line: &Line| {
            let efficiency = line.predicted_efficiency?;
            Some(CurvePoint { gpus: line.count(), speedup: efficiency * line.count() as f64, efficiency })
        };
        let predicted = |scaling: Scaling, name: &str| Series {
            name: name.to_owned(),
            points: self.lines.iter().filter(|line| line.scaling == scaling).filter_map(forecast).collect(),
        };
        let (weak, strong) = match language {
            Language::ZhCn => ("弱扩展，预测", "强扩展，预测"),
            Language::En => ("weak, predicted", "strong, predicted"),
        };
        let all = [
            of(Scaling::Weak),
            of(Scaling::Strong),
            predicted(Scaling::Weak, weak),
            predicted(Scaling::Strong, strong),
        ];
        let all: Vec<Series> = all.into_iter().filter(|series| !series.points.is_empty()).collect();
        let gpus = match (self.compares_nodes(), self.has_gpus) {
            (true, _) => word(language, "节点数", "nodes"),
            (false, true) => word(language, "GPU 数", "GPUs"),
            (false, false) => word(language, "进程数", "processes"),
        };
        let speedup = match self.compares_nodes() {
            true => word(language, "相对一个节点的加速比", "speed-up over one node"),
            false => word(language, "相对一个进程的加速比", "speed-up over one process"),
        };
        let labels = Labels { title: &self.title(language), gpus, speedup, ideal: word(language, "理想", "ideal") };
        curves(&all, labels)
    }

    pub fn title(&self, language: Language) -> String {
        format!("{}{}", self.workload.in_language(language), word(language, "：实测的扩展性", ": measured scaling"))
    }

    /// For people, or for programs where that was asked for.
    pub fn show(&self, flags: &ScaleFlags) {
        if flags.json {
            speech::print_json(&self.json());
            return;
        }
        let language = speech::language();
        speech::print(&format!("\n{}\n{}", self.title(language), self.table(language, Paint::for_stdout())));
        for note in &self.notes {
            speech::say(&format!("  ! {}\n", note.in_language(language)));
        }
        let folder = flags.results_dir.display();
        let names = [&TEXTS[..], &[PICTURE]].concat().join(", ");
        if !self.trials.is_empty() {
            speech::say(&match language {
                Language::ZhCn => format!("  已写入 {folder}：{names}\n"),
                Language::En => format!("  written to {folder}: {names}\n"),
            });
        }
        if let Some(learned) = &self.learned {
            speech::say(&format!("  {}\n", learned.text().in_language(language)));
        }
    }

    /// A page that needs nothing beside it.
    pub fn page(&self, language: Language) -> String {
        let cells = |tag: &str, cells: Vec<String>| -> String {
            cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
        };
        let row = |line: &Line| {
            let class = if line.shares_devices { " class=\"shared\"" } else { "" };
            format!("<tr{class}>{}</tr>\n", cells("td", Self::cells(line, language)))
        };
        let rows: String = self.lines.iter().map(row).collect();
        let note = |note: &Text| format!("<li>{}</li>\n", escaped(note.in_language(language)));
        let learned = self.learned.as_ref().map(Learned::text);
        let notes: String = self.notes.iter().chain(&learned).map(note).collect();
        format!(
            "<!doctype html>\n<html lang=\"{}\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>\
             body{{font:15px/1.5 system-ui,'PingFang SC','Microsoft YaHei',sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#111827}}\
             table{{border-collapse:collapse}}td,th{{padding:.3rem .8rem;text-align:right;border-bottom:1px solid #e5e7eb}}\
             td:first-child,th:first-child{{text-align:left}}tr.shared{{color:#6b7280}}svg{{max-width:100%;height:auto}}\
             </style>\n<h1>{title}</h1>\n<ul>\n{notes}</ul>\n<table>\n<tr>{}</tr>\n{rows}</table>\n{}</html>\n",
            word(language, "zh-CN", "en"),
            cells("th", self.head(language)),
            self.chart(language).svg(),
            title = escaped(&self.title(language)),
        )
    }
}

fn scaling_name(language: Language, scaling: Scaling) -> &'static str {
    match scaling {
        Scaling::Weak => word(language, "弱扩展", "weak"),
        Scaling::Strong => word(language, "强扩展", "strong"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::lines;
    use super::*;

    fn measurement() -> Measurement {
        let trial = |processes: u64, speed: f64| Trial {
            scaling: Scaling::Weak,
            nodes: None,
            processes,
            global_batch: Some(processes * 4),
            speed,
            memory_bytes: Some(3 << 20),
            shares_devices: processes > 2,
        };
        let trials = vec![trial(1, 100.0), trial(2, 190.0), trial(4, 200.0)];
        Measurement {
            workload: Text::new("a <b>", "a <b>"),
            unit: "tokens/s",
            environments: Vec::new(),
            devices: 2,
            has_gpus: false,
            complete: true,
            lines: lines(&trials, &[]),
            trials,
            notes: vec![Text::new("4 个进程 & 2 个核", "4 processes & 2 cores")],
            learned: None,
        }
    }

    #[test]
    fn the_table_has_a_dash_where_it_is_not_called_scaling() {
        let table = measurement().table(Language::En, Paint::none());
        let last: Vec<&str> = table.lines().last().unwrap_or_default().split_whitespace().collect();
        assert_eq!(last, ["weak", "4", "16", "200.0", "±", "0", "%", "3.0", "MB", "–", "–", "–"], "{table}");
        assert!(table.contains("95 %") && table.contains("1.90×"), "{table}");
    }

    #[test]
    fn csv_and_json_hold_the_same_lines() {
        let found = measurement();
        let csv = found.csv();
        assert_eq!(csv.lines().count(), 4);
        assert!(csv.contains("weak,2,8,1,190.000,tokens/s,0.0000,3145728,1.9000,0.9500,false,\n"), "{csv}");
        let json = found.json();
        assert_eq!(json["points"][1]["efficiency"], 0.95);
        assert_eq!((json["version"].as_u64(), json["points"][2]["sharesDevices"].as_bool()), (Some(1), Some(true)));
    }

    #[test]
    fn nodes_have_a_column_of_their_own() {
        let mut found = measurement();
        found.environments = vec!["a".to_owned(), "b".to_owned()];
        let trials = found.trials.iter().take(2);
        let on_nodes: Vec<Trial> =
            trials.map(|it| Trial { nodes: Some(it.processes), processes: it.processes * 2, ..it.clone() }).collect();
        (found.lines, found.trials) = (lines(&on_nodes, &[]), on_nodes);
        let table = found.table(Language::En, Paint::none());
        let row = |at: usize| table.lines().nth(at).unwrap_or_default().split_whitespace().take(4).collect::<Vec<_>>();
        assert_eq!((row(0), row(2)), (vec!["SCALING", "NODES", "PROCESSES", "BATCH"], vec!["weak", "2", "4", "8"]));
        let csv = found.csv();
        assert!(csv.starts_with("scaling,nodes,processes,") && csv.contains("\nweak,2,4,8,1,190.000,"), "{csv}");
        let json = found.json();
        assert_eq!((&json["points"][1]["nodes"], &json["environments"][1]), (&2.into(), &"b".into()));
        assert!(found.chart(Language::En).svg().contains("speed-up over one node"));
    }

    #[test]
    fn the_page_needs_nothing_beside_it_and_escapes_words() {
        for language in [Language::En, Language::ZhCn] {
            let page = measurement().page(language);
            assert!(page.contains("a &lt;b&gt;") && !page.contains("<b>") && page.contains("<svg"), "{page}");
            assert!(!page.contains("src=") && !page.contains("href="), "{page}");
        }
        assert!(measurement().page(Language::ZhCn).contains("4 个进程 &amp; 2 个核"));
        // The four that share two cores are no point of the curve.
        assert_eq!(measurement().chart(Language::En).svg().matches("<circle").count(), 3, "two points and the legend");
    }
}
