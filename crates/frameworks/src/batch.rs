//! Batch sizes that agree: global = micro × accumulation × data parallel ranks.

use fermi_domain::language::Text;

use crate::{
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

/// The settings that say how large a batch is.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting::new("microBatchSize", "每个 rank 每步的样本数", "samples of a rank in one pass"),
    Setting::new("gradientAccumulationSteps", "更新前累积的次数", "passes before each update"),
    Setting::new("globalBatchSize", "每次更新的总样本数", "samples of all ranks in one update"),
];

/// How many samples go where; always consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    pub micro: u64,
    pub accumulation: u64,
    pub data_parallel: u64,
    pub global: u64,
}

/// What the user said; what is missing is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub micro: Option<u64>,
    pub accumulation: Option<u64>,
    pub global: Option<u64>,
}

impl Wanted {
    pub(crate) fn read(settings: &Settings<'_>) -> Result<Self, LaunchRefusal> {
        Ok(Self {
            micro: settings.count("microBatchSize")?,
            accumulation: settings.count("gradientAccumulationSteps")?,
            global: settings.count("globalBatchSize")?,
        })
    }

    /// Whether anything was said at all.
    pub(crate) fn is_given(self) -> bool {
        self != Self::default()
    }

    /// Finds the missing numbers; `usual` is the micro-batch and accumulation where nothing decides them. A global
    /// batch that disagrees with the other two is replaced, which the second value says.
    pub(crate) fn resolve(self, data_parallel: u64, usual: (u64, u64)) -> Result<(Batch, Option<Text>), LaunchRefusal> {
        let ranks = || Text::new("数据并行数", "data parallel ranks");
        let (micro, accumulation) = match (self.micro, self.accumulation, self.global) {
            (Some(micro), Some(accumulation), _) => (micro, accumulation),
            (Some(micro), None, Some(global)) => {
                let parts = product(micro, data_parallel)?;
                let by = Text::new(
                    format!("微批次 {micro} × 数据并行 {data_parallel}"),
                    format!("micro-batch {micro} x {data_parallel} data parallel ranks"),
                );
                (micro, share(global, parts, by)?)
            }
            (None, Some(accumulation), Some(global)) => {
                let parts = product(accumulation, data_parallel)?;
                let by = Text::new(
                    format!("累积 {accumulation} × 数据并行 {data_parallel}"),
                    format!("{accumulation} accumulation steps x {data_parallel} data parallel ranks"),
                );
                (share(global, parts, by)?, accumulation)
            }
            (None, None, Some(global)) => (share(global, data_parallel, ranks())?, 1),
            (Some(micro), None, None) => (micro, 1),
            (None, Some(accumulation), None) => (usual.0, accumulation),
            (None, None, None) => usual,
        };
        let global = product(product(micro, accumulation)?, data_parallel)?;
        let note = self.global.filter(|given| *given != global).map(|given| {
            Text::new(
                format!("全局批次按 {micro} × {accumulation} × {data_parallel} 计为 {global}，而非 {given}"),
                format!("the global batch is {micro} x {accumulation} x {data_parallel} = {global}, not {given}"),
            )
        });
        Ok((Batch { micro, accumulation, data_parallel, global }, note))
    }
}

impl Batch {
    /// In words, for the event log, where every rank trains on data of its own.
    pub fn text(self) -> Text {
        self.text_of(self.data_parallel)
    }

    /// The same among so many ranks, of which several may share one copy of the model.
    pub(crate) fn text_of(self, ranks: u64) -> Text {
        let Self { micro, accumulation, data_parallel, global } = self;
        let (zh, en) =
            if ranks == data_parallel { ("rank", "ranks") } else { ("数据并行副本", "data-parallel copies") };
        let gap = if zh.is_ascii() { " " } else { "" };
        Text::new(
            format!("有效批次 {global} = {micro} × {data_parallel} 个{gap}{zh} × 累积 {accumulation}"),
            format!("effective batch {global} = {micro} x {data_parallel} {en} x {accumulation} accumulation steps"),
        )
    }
}

fn share(global: u64, parts: u64, by: Text) -> Result<u64, LaunchRefusal> {
    if global.is_multiple_of(parts) && global > 0 {
        return Ok(global / parts);
    }
    let below = global / parts * parts;
    let nearest = [below, below.saturating_add(parts)].into_iter().filter(|near| *near > 0).collect();
    Err(LaunchRefusal::BatchIndivisible { global, parts, by, nearest })
}

fn product(a: u64, b: u64) -> Result<u64, LaunchRefusal> {
    a.checked_mul(b).filter(|product| *product <= 1 << 52).ok_or(LaunchRefusal::BatchTooLarge)
}
