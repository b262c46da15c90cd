//! Parameter counts of published models, to the last one.
#![allow(clippy::unwrap_used, clippy::panic)]

use fermi_domain::language::FrontEnd;
use fermi_planner::catalogue::{Catalogue, architecture_of_config};

#[test]
fn published_parameter_counts_come_out_exactly() {
    let catalogue = Catalogue::builtin();
    for (name, params) in [
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("opt-125m", 125_239_296),
        ("facebook/opt-350m", 331_196_416),
        ("facebook/opt-1.3b", 1_315_758_080),
        ("llama2-7b", 6_738_415_616),
        ("llama2-13b", 13_015_864_320),
        ("llama2-70b", 68_976_648_192),
        ("meta-llama/Meta-Llama-3-8B", 8_030_261_248),
        ("llama3-70b", 70_553_706_496),
        ("llama3.1-405b", 405_853_388_800),
        ("llama3.2-1b", 1_235_814_400),
        ("llama3.2-3b", 3_212_749_824),
        ("tinyllama-1.1b", 1_100_048_384),
        ("mistral-7b", 7_241_732_096),
        ("mixtral-8x7b", 46_702_792_704),
        ("Qwen/Qwen2.5-0.5B", 494_032_768),
        ("qwen2.5-1.5b", 1_543_714_304),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen2.5-72b", 72_706_203_648),
        ("bloom", 176_247_271_424),
        ("bert-base", 109_482_240),
    ] {
        let entry = catalogue.model(name).unwrap_or_else(|| panic!("{name} is not in the catalogue"));
        assert_eq!(entry.architecture().params(), params, "{name}");
    }
}

#[test]
fn a_hugging_face_configuration_gives_the_same_model() {
    let llama = r#"{"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,
        "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,"tie_word_embeddings":false}"#;
    assert_eq!(architecture_of_config(llama).unwrap().params(), 8_030_261_248);
    let gpt2 = r#"{"model_type":"gpt2","n_layer":12,"n_embd":768,"n_head":12,"n_positions":1024,"vocab_size":50257}"#;
    assert_eq!(architecture_of_config(gpt2).unwrap().params(), 124_439_808);
    let mixtral = r#"{"model_type":"mixtral","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,
        "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2,
        "tie_word_embeddings":false}"#;
    assert_eq!(architecture_of_config(mixtral).unwrap().params(), 46_702_792_704);
    assert!(architecture_of_config("{}").unwrap_err().message.en.contains("hidden_size"));
    assert!(architecture_of_config("nonsense").unwrap_err().message.zh.contains("读不懂"));
}

#[test]
fn users_extend_the_catalogue_and_their_entries_win() {
    let mut catalogue = Catalogue::builtin();
    let before = catalogue.gpu("A100-80", None).unwrap().bf16_flops;
    catalogue
        .extend(r#"{"gpus":[{"name":"A100-80","memory_gib":80,"bf16_tflops":300,"hbm_gbs":2000,"link_gbs":300}]}"#)
        .unwrap();
    let after = catalogue.gpu("A100-80", None).unwrap().bf16_flops;
    assert!(after < before);
    assert!(catalogue.extend("{\"gpus\":[{\"nome\":1}]}").is_err());
}

#[test]
fn gpus_are_found_however_they_are_written() {
    let catalogue = Catalogue::builtin();
    for (name, memory, gib) in [
        ("A100-80G", None, 80.0),
        ("NVIDIA A100-SXM4-80GB", None, 80.0),
        ("a100-40", None, 40.0),
        ("A100-SXM", Some(40.0), 40.0),
        ("H100-96(HBM2e)", None, 96.0),
        ("NVIDIA H200", None, 141.0),
        ("V100", Some(16.0), 16.0),
        ("B200", None, 180.0),
        ("MI300X", None, 192.0),
    ] {
        assert_eq!(catalogue.gpu(name, memory).unwrap().memory_gib, gib, "{name}");
    }
    let error = catalogue.gpu("H1000", None).unwrap_err();
    let hint = error.hint.spelled(FrontEnd::Api);
    assert!(hint.en.contains("H100"), "{}", hint.en);
}
