/** What a script does after each step so that its numbers are drawn; a browser test runs it. */
export const SAMPLE = [
  'import json, os, time',
  'with open(os.environ["FERMI_PROGRESS_FILE"], "a") as file:',
  '    line = {"time": time.time(), "step": step, "loss": float(loss), "stepTimeS": took}',
  '    file.write(json.dumps(line) + "\\n")',
].join('\n');
