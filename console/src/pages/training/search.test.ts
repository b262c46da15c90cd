import { expect, test } from 'vitest';
import { readSearch } from './search';

test('filters, order and comparison are read; what is not known falls out', () => {
  expect(readSearch({ q: 12, status: 'running,failed', sort: 'name asc', compare: 'task-1,task-2' })).toEqual({
    q: '12',
    status: 'running,failed',
    sort: 'name asc',
    compare: 'task-1,task-2',
  });
  expect(readSearch({ compare: 'task-1', x: 'time' })).toEqual({ compare: 'task-1', x: 'time' });
  expect(readSearch({ x: 'time' })).toEqual({});
  expect(readSearch({ sort: 'createdAt desc', environment: '', status: { a: 1 } })).toEqual({});
});
