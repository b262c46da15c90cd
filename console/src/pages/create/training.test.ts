import { expect, test } from 'vitest';
import { RECIPES, sampleOf, trainingOf, yamlOfTraining } from './training';

test.each(RECIPES)('the sample of %s is a training.yaml', (recipe) => {
  const { settings, problem } = trainingOf(sampleOf(recipe));
  expect(problem).toBeNull();
  expect(settings).toMatchObject({ training: { distributed_strategy: 'auto', learning_rate: 5e-5 } });
});

test('what is no file of settings is said, with its line', () => {
  expect(trainingOf('  ')).toEqual({ settings: null, problem: null });
  expect(trainingOf('- 1').problem).not.toBeNull();
  expect(trainingOf('training:\n  bf16: [true').problem).toMatch(/^\d+: /);
});

test('settings become a file and the same settings again', () => {
  const settings = { model: { max_length: 8 }, training: { learning_rate: 5e-5, bf16: true } };
  expect(trainingOf(yamlOfTraining(settings)).settings).toEqual(settings);
  expect(yamlOfTraining(null)).toBe('');
});
