// SPDX-License-Identifier: Apache-2.0
// Loads a trace into the trace processor of a built Perfetto UI and prints the rows of SQL queries as JSON.
//
//     node trace_processor.cjs UI_FOLDER TRACE SQL...        UI_FOLDER holds engine_bundle.js and trace_processor.wasm
//
// The engine is a web worker: it is given the few things of a browser that it asks for, and spoken to in its own protocol, length-delimited
// protobuf messages on a message port.
const fs = require('fs');
const path = require('path');

const [folder, trace, ...queries] = process.argv.slice(2);
const wasm = fs.readFileSync(path.join(folder, 'trace_processor.wasm'));
const FIELD = {request: 2, fatal: 5, data: 101, query: 103, appended: 201, result: 203};
const METHOD = {append: 1, finalize: 2, query: 3};
const CELL = {null: 1, integer: 2, real: 3, text: 4};

function readVarint(bytes, at) {
  let value = 0n;
  for (let shift = 0n;; shift += 7n) {
    const byte = bytes[at++];
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [value, at];
  }
}

function putVarint(number) {
  const bytes = [];
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push(number % 128 | 0x80);
  return Buffer.from([...bytes, number]);
}

function putBytes(field, bytes) {
  return Buffer.concat([putVarint(field * 8 + 2), putVarint(bytes.length), bytes]);
}

function* fields(bytes) {
  for (let at = 0; at < bytes.length;) {
    let key, value;
    [key, at] = readVarint(bytes, at);
    const wire = Number(key & 7n);
    if (wire === 0) {
      [value, at] = readVarint(bytes, at);
    } else {
      let size = wire === 1 ? 8n : 4n;
      if (wire === 2) [size, at] = readVarint(bytes, at);
      value = bytes.subarray(at, at + Number(size));
      at += Number(size);
    }
    yield [Number(key >> 3n), value];
  }
}

function* varints(bytes) {
  for (let at = 0; at < bytes.length;) {
    let value;
    [value, at] = readVarint(bytes, at);
    yield value;
  }
}

function* cells(batch) {
  const types = [], integers = [], reals = [];
  let texts = [];
  for (const [field, value] of fields(batch)) {
    if (field === 1) types.push(...varints(value));
    if (field === 2) integers.push(...varints(value));
    if (field === 3) for (let at = 0; at < value.length; at += 8) reals.push(value.readDoubleLE(at));
    if (field === 5) texts = value.toString().split('\0');
  }
  for (const type of types.map(Number)) {
    if (type === CELL.integer) yield Number(BigInt.asIntN(64, integers.shift()));
    else if (type === CELL.real) yield reals.shift();
    else yield type === CELL.text ? texts.shift() : null;
  }
}

// The worker's surroundings.
globalThis.self = globalThis;
globalThis.location = {href: ''};
globalThis.WorkerGlobalScope = function() {};
globalThis.importScripts = function() {};
globalThis.fetch = async () => new Response(wasm, {headers: {'content-type': 'application/wasm'}});
globalThis.XMLHttpRequest = class {
  open() {}
  send() { this.response = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length); }
};
console.warn = () => {};
new Function('process', 'require', 'module', fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'))();

const {port1, port2} = new MessageChannel();
let received = Buffer.alloc(0);
let sequence = 0;
let onMessage;

port2.onmessage = (message) => {
  received = Buffer.concat([received, Buffer.from(message.data)]);
  while (received.subarray(1, 11).some((byte) => byte < 0x80)) {
    const [size, at] = readVarint(received, 1);
    if (received.length < at + Number(size)) return;
    const body = received.subarray(at, at + Number(size));
    received = received.subarray(at + Number(size));
    onMessage(body);
  }
};

// Sends a request; take(field, value) says when the answer is complete.
function ask(method, argument, take) {
  return new Promise((resolve, reject) => {
    onMessage = (body) => {
      let isDone = false;
      for (const [field, value] of fields(body)) {
        if (field === FIELD.fatal) reject(new Error(value.toString()));
        isDone = take(field, value) || isDone;
      }
      if (isDone) resolve();
    };
    const request = Buffer.concat([Buffer.from([8]), putVarint(sequence++), Buffer.from([16, method]), argument]);
    const bytes = new Uint8Array(putBytes(1, request));
    port2.postMessage(bytes, [bytes.buffer]);
  });
}

async function query(sql) {
  const rows = [];
  let columns = 0, row = [];
  await ask(METHOD.query, putBytes(FIELD.query, putBytes(1, Buffer.from(sql))), (field, result) => {
    let isLast = false;
    if (field !== FIELD.result) return false;
    for (const [part, value] of fields(result)) {
      if (part === 1) columns++;
      if (part === 2 && value.length > 0) throw new Error(`${sql}: ${value}`);
      if (part !== 3) continue;
      for (const cell of cells(value)) {
        row.push(cell);
        if (row.length === columns) { rows.push(row); row = []; }
      }
      for (const [inner, flag] of fields(value)) isLast = isLast || (inner === 6 && flag !== 0n);
    }
    return isLast;
  });
  return rows;
}

async function main() {
  globalThis.onmessage({data: {enginePort: port1}});
  await ask(METHOD.append, putBytes(FIELD.data, fs.readFileSync(trace)), (field) => field === FIELD.appended);
  await ask(METHOD.finalize, Buffer.alloc(0), () => true);
  const answers = [];
  for (const sql of queries) answers.push(await query(sql));
  console.log(JSON.stringify(answers));
}

main().then(() => process.exit(0), (error) => { console.error(error.message); process.exit(1); });
