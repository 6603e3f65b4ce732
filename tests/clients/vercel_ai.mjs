// An agent of the Vercel AI SDK that looks at files, as docs/vercel_ai.md says: node vercel_ai.mjs KIND ADDRESS
import { readFile } from 'node:fs/promises';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';

const [kind, address] = process.argv.slice(2);
const given = { baseURL: `${address}/v1`, apiKey: 'any', headers: { 'x-fanfold-session': 'run-42' } };
const openai = createOpenAI(given);
const models = {
  chat: () => openai.chat('gpt-4o'),
  responses: () => openai('gpt-4o'),
  claude: () => createAnthropic(given)('claude-sonnet-4-5'),
};
const cat = tool({
  description: 'Show a file.',
  inputSchema: jsonSchema({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }),
  execute: ({ name }) => readFile(name, 'utf8'),
});
const asked = {
  model: models[kind.replace('streamed-', '')](),
  providerOptions: { openai: { store: false }, anthropic: { cacheControl: { type: 'ephemeral' } } },
  tools: { cat },
  stopWhen: stepCountIs(100),
  maxOutputTokens: 1000,
  maxRetries: 0,
  prompt: 'Look at all files, one by one.',
};
const done = kind.startsWith('streamed-') ? streamText(asked) : await generateText(asked);
const [text, steps] = [await done.text, await done.steps];
const outputs = steps.flatMap(step => step.toolResults.map(result => result.output.length));
console.log(JSON.stringify({ text, steps: steps.length, outputs }));
