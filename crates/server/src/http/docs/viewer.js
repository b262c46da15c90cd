"use strict";
// Shows the OpenAPI document: one fold per operation, with its parameters, body and answers.
(async () => {
  const root = document.getElementById("operations");
  const search = document.getElementById("search");
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  let api;
  try {
    api = await (await fetch("/api/openapi.json")).json();
  } catch (error) {
    root.textContent = String(error);
    return;
  }
  const resolve = (schema) => {
    if (schema && schema.$ref) return api.components.schemas[schema.$ref.split("/").pop()];
    return schema;
  };
  const sample = (schema, depth) => {
    const name = schema && schema.$ref ? schema.$ref.split("/").pop() : null;
    const found = resolve(schema);
    if (!found || depth > 6) return name || null;
    if (found.example !== undefined) return found.example;
    if (found.examples && found.examples.length) return found.examples[0];
    if (found.const !== undefined) return found.const;
    if (found.enum) return found.enum.join(" | ");
    const several = found.oneOf || found.anyOf;
    if (several) return sample(several.find((one) => one.type !== "null") || several[0], depth + 1);
    if (found.allOf) return Object.assign({}, ...found.allOf.map((one) => sample(one, depth + 1)));
    const type = Array.isArray(found.type) ? found.type.find((one) => one !== "null") : found.type;
    if (type === "array") return [sample(found.items, depth + 1)];
    if (type === "object" || found.properties) {
      const out = {};
      for (const [key, value] of Object.entries(found.properties || {})) out[key] = sample(value, depth + 1);
      return out;
    }
    return type || null;
  };
  const content = (parent, title, map) => {
    for (const [kind, { schema }] of Object.entries(map || {})) {
      parent.append(make("p", title + " · " + kind));
      if (schema) parent.append(make("pre", JSON.stringify(sample(schema, 0), null, 2)));
    }
  };
  const fill = (body, operation) => {
    if (operation.description) body.append(make("p", operation.description));
    if (operation.parameters && operation.parameters.length) {
      const table = make("table");
      for (const parameter of operation.parameters) {
        const row = make("tr");
        row.append(make("th", parameter.name), make("td", parameter.in), make("td", parameter.description || ""));
        table.append(row);
      }
      body.append(table);
    }
    if (operation.requestBody) content(body, "body", operation.requestBody.content);
    for (const [status, answer] of Object.entries(operation.responses || {})) {
      if (status.startsWith("2")) content(body, status, answer.content);
      else body.append(make("p", status + " · " + (answer.description || "")));
    }
  };
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    const groups = new Map();
    for (const [path, item] of Object.entries(api.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (!operation.responses) continue;
        const text = (method + " " + path + " " + (operation.summary || "")).toLowerCase();
        if (wanted && !text.includes(wanted)) continue;
        const tag = (operation.tags && operation.tags[0]) || "";
        if (!groups.has(tag)) groups.set(tag, []);
        groups.get(tag).push([method, path, operation]);
      }
    }
    root.replaceChildren();
    for (const [tag, operations] of groups) {
      root.append(make("h2", tag));
      for (const [method, path, operation] of operations) {
        const fold = make("details");
        const head = make("summary");
        head.append(make("span", method.toUpperCase(), "method"), make("code", path), make("span", operation.summary || ""));
        const body = make("div", undefined, "body");
        fold.append(head, body);
        fold.addEventListener("toggle", () => {
          if (fold.open && !body.childElementCount) fill(body, operation);
        });
        root.append(fold);
      }
    }
  };
  search.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    }
  });
  show();
})();
