//! What was measured, as people and programs read it: table, CSV, JSON, chart, page. Pure.

use std::path::PathBuf;

use fermi_domain::language::{Language, Text};
use fermi_domain::units::Bytes;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::lesson::Lesson;
use super::table::{Line, Scaling, Trial};
use crate::chart::{CurvePoint, Drawing, Labels, Series, curves, escaped};
use crate::speech::Paint;
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
        let flags = device.map_or_else(String::new, |device| {
            let link = device.link.gbs().map_or_else(String::new, |link| format!(" --gpu-link {link:.3}"));
            format!(" --gpu-tflops {:.4}{link}", device.tflops)
        });
        let file = self.file.display();
        Text::new(
            format!(
                "规划器从 {runs} 次运行中学习：平均误差 {before:.1} % → {after:.1} %；用法：fermi plan … --calibration {file}{flags}"
            ),
            format!(
                "the planner has learned from {runs} runs: mean error {before:.1} % → {after:.1} %; use it: fermi plan … --calibration {file}{flags}"
            ),
        )
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
        let mut out = String::from(
            "scaling,processes,global_batch,runs,speed,unit,spread,memory_bytes,speedup,efficiency,shares_devices,predicted_efficiency\n",
        );
        let maybe = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
        let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        for line in &self.lines {
            out.push_str(&format!(
                "{},{},{},{},{:.3},{},{:.4},{},{},{},{},{}\n",
                scaling_name(Language::En, line.scaling),
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

    fn head(&self, language: Language) -> [String; 9] {
        let device = if self.has_gpus { "GPU" } else { word(language, "进程", "PROCESSES") };
        [
            word(language, "扩展", "SCALING").to_owned(),
            device.to_owned(),
            word(language, "批次", "BATCH").to_owned(),
            format!("{} {}", word(language, "速度", "SPEED"), self.unit),
            word(language, "离散", "SPREAD").to_owned(),
            word(language, "内存", "MEMORY").to_owned(),
            word(language, "加速", "SPEED-UP").to_owned(),
            word(language, "效率", "EFFICIENCY").to_owned(),
            word(language, "预测", "PREDICTED").to_owned(),
        ]
    }

    fn cells(line: &Line, language: Language) -> [String; 9] {
        let none = || "–".to_owned();
        let percent = |value: f64| format!("{:.0} %", value * 100.0);
        [
            scaling_name(language, line.scaling).to_owned(),
            line.processes.to_string(),
            line.global_batch.map_or_else(none, |batch| batch.to_string()),
            format!("{:.1}", line.speed),
            format!("± {:.0} %", line.spread * 50.0),
            line.memory_bytes.map_or_else(none, |bytes| Bytes(bytes).rounded()),
            line.speedup.map_or_else(none, |speedup| format!("{speedup:.2}×")),
            line.efficiency.map_or_else(none, percent),
            line.predicted_efficiency.map_or_else(none, percent),
        ]
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
                Some(CurvePoint { gpus: line.processes, speedup: line.speedup?, efficiency: line.efficiency? })
            };
            Series { name: scaling_name(language, scaling).to_owned(), points: own.filter_map(point).collect() }
        };
        let forecast = |line: &Line| {
            let efficiency = line.predicted_efficiency?;
            Some(CurvePoint { gpus: line.processes, speedup: efficiency * line.processes as f64, efficiency })
        };
        let predicted = Series {
            name: word(language, "预测", "predicted").to_owned(),
            points: self.lines.iter().filter_map(forecast).collect(),
        };
        let all: Vec<Series> = [of(Scaling::Weak), of(Scaling::Strong), predicted]
            .into_iter()
            .filter(|series| !series.points.is_empty())
            .collect();
        let gpus =
            if self.has_gpus { word(language, "GPU 数", "GPUs") } else { word(language, "进程数", "processes") };
        let labels = Labels {
            title: &self.title(language),
            gpus,
            speedup: word(language, "相对一个进程的加速比", "speed-up over one process"),
            ideal: word(language, "理想", "ideal"),
        };
        curves(&all, labels)
    }

    pub fn title(&self, language: Language) -> String {
        format!("{}{}", self.workload.in_language(language), word(language, "：实测的扩展性", ": measured scaling"))
    }

    /// A page that needs nothing beside it.
    pub fn page(&self, language: Language) -> String {
        let cells = |tag: &str, cells: [String; 9]| -> String {
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
            processes,
            global_batch: Some(processes * 4),
            speed,
            memory_bytes: Some(3 << 20),
        };
        let trials = vec![trial(1, 100.0), trial(2, 190.0), trial(4, 200.0)];
        Measurement {
            workload: Text::new("a <b>", "a <b>"),
            unit: "tokens/s",
            devices: 2,
            has_gpus: false,
            complete: true,
            lines: lines(&trials, 2, &[]),
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
