import { dump, load, YAMLException } from 'js-yaml';

/** What every algorithm trains by; `reward` is another word for `rm`. */
export const RECIPES = ['sft', 'rm', 'dpo', 'grpo', 'ppo'] as const;
export type RecipeName = (typeof RECIPES)[number];

export type Training = { settings: Record<string, never> | null; problem: string | null };

/** A training.yaml as the API takes it; what is no mapping is said, with its line. */
export function trainingOf(text: string): Training {
  if (text.trim() === '') return { settings: null, problem: null };
  try {
    const found = load(text);
    if (typeof found === 'object' && found !== null && !Array.isArray(found)) {
      return { settings: found as Record<string, never>, problem: null };
    }
    return { settings: null, problem: 'key: value' };
  } catch (error) {
    if (!(error instanceof YAMLException)) return { settings: null, problem: String(error) };
    return { settings: null, problem: `${error.mark ? `${error.mark.line + 1}: ` : ''}${error.reason}` };
  }
}

/** The settings of a task as a file again. */
export const yamlOfTraining = (settings: unknown): string =>
  settings === null || settings === undefined ? '' : dump(settings, { flowLevel: 2, lineWidth: 100, noRefs: true });

const COMMON = `training:
  distributed_strategy: auto
  per_device_train_batch_size: 4
  gradient_accumulation_steps: 2
  bf16: true
  learning_rate: 5e-5
  save_steps: 500
  resume_from_checkpoint: latest
`;

const OWN: Record<RecipeName, string> = {
  sft: 'model: {max_length: 1024}\ndata: {eval_share: 0.02}\n',
  rm: 'recipe: {center_rewards: 0.01}\n',
  dpo: 'recipe: {beta: 0.1, loss_type: sigmoid}\n',
  grpo: 'recipe: {reward: exact, num_generations: 8, max_completion_length: 256}\n',
  ppo: 'recipe: {reward: exact, max_completion_length: 128, kl_coef: 0.05}\n',
};

/** A file to begin with; model and data are those of the task. */
export const sampleOf = (recipe: RecipeName): string => `${OWN[recipe]}${COMMON}`;
