// The tools, in the formats of model APIs.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { generateText, isStepCount, jsonSchema } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

import { clientOver, failure, FakeTransport, never, rpcError } from './fakes.ts';
import type { Call, ModelTools, ToolDefinition, ToolResult, Toolset } from '../src/index.ts';

const DECLARATION: Toolset = { workspaces: [{ name: 'code', snapshot: true, sandboxId: 'agent-42' }] };

const INPUT = {
  type: 'object',
  properties: { ref: { type: 'object' } },
  required: ['ref'],
  additionalProperties: false,
};
const NAME = 'workspace__code__restore';
const DEFINITION: ToolDefinition = {
  name: NAME,
  title: 'Restore a snapshot',
  description: 'Makes a new workspace.',
  inputSchema: INPUT,
  outputSchema: { type: 'object' },
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
};
const RESULT: ToolResult = {
  content: [
    { type: 'text', text: 'The new workspace is' },
    { type: 'text', text: 'agent-42-restored-k3f9x2ab.' },
  ],
  structuredContent: { ref: { sandboxId: 'agent-42-restored-k3f9x2ab' } },
};
const TEXT = 'The new workspace is\nagent-42-restored-k3f9x2ab.';
const FAILED: ToolResult = { content: [{ type: 'text', text: 'INVALID_REF: no.' }], isError: true };

/** Creates a toolset whose calls have this outcome. */
async function tools(outcome: unknown = RESULT): Promise<{ toolset: ModelTools; transport: FakeTransport }> {
  const transport = new FakeTransport((call: Call) => {
    if (call.operation === 'tools/list') return { tools: [DEFINITION] };
    if (outcome instanceof Error) throw outcome;
    return typeof outcome === 'function' ? outcome() : outcome;
  });
  const { client } = clientOver(transport);
  return { toolset: await client.toolset(DECLARATION), transport };
}

/** The operation and options of a call of the tool. */
const call = (args: unknown, idempotencyKey = 'key-1') => [
  'tools/call',
  { ...DECLARATION, name: NAME, arguments: args, idempotencyKey },
];

describe('a toolset', () => {
  test('has the definitions of its tools, and calls them with its declaration', async () => {
    const { toolset, transport } = await tools();
    assert.deepEqual(toolset.definitions, [DEFINITION]);
    assert.deepEqual(await toolset.callTool(NAME, { ref: 1 }), RESULT);
    assert.deepEqual(transport.sent, [['tools/list', DECLARATION], call({ ref: 1 })]);
  });

  test('calls a tool without arguments with an empty object', async () => {
    const { toolset, transport } = await tools();
    await toolset.callTool(NAME);
    assert.deepEqual(transport.sent[1], call({}));
  });

  test('stops waiting when the signal fires', async () => {
    const controller = new AbortController();
    const { toolset } = await tools(() => {
      controller.abort();
      return never();
    });
    const waiting = toolset.callTool(NAME, {}, { signal: controller.signal });
    assert.equal((await failure(waiting)).code, 'ABORTED');
  });
});

describe('the answer for a model', () => {
  const answer = async (outcome: unknown, args: unknown) => (await tools(outcome)).toolset.answer(NAME, args);

  test('is the text of the result', async () => {
    assert.deepEqual(await answer(RESULT, {}), { text: TEXT, isError: false });
    assert.deepEqual(await answer(FAILED, {}), { text: 'INVALID_REF: no.', isError: true });
  });

  test('is the message of an error if the call fails', async () => {
    assert.deepEqual(await answer(rpcError('TOOL_NOT_FOUND', 'not_found'), {}), {
      text: 'TOOL_NOT_FOUND: The call failed. → Change the call.',
      isError: true,
    });
  });

  for (const [what, args] of Object.entries({
    'not JSON': '{"ref":',
    'not an object': '[1]',
    'a number': 1,
  })) {
    test(`is an error without a call if the arguments are ${what}`, async () => {
      const { toolset, transport } = await tools();
      const { text, isError } = await toolset.answer(NAME, args);
      assert.match(text, /^The arguments are not/);
      assert.deepEqual([isError, transport.calls.length], [true, 1]);
    });
  }

  test('is an exception if the call is aborted', async () => {
    const { toolset } = await tools();
    const aborted = toolset.answer(NAME, {}, { signal: AbortSignal.abort() });
    assert.equal((await failure(aborted)).code, 'ABORTED');
  });
});

describe('for the AI SDK', () => {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };

  /** Runs a fake model that calls the tool once and then answers with text. */
  async function generate(outcome?: unknown) {
    const { toolset, transport } = await tools(outcome);
    const model = new MockLanguageModelV4({
      doGenerate: [
        {
          content: [{ type: 'tool-call', toolCallId: 'call-1', toolName: NAME, input: '{"ref":{"a":1}}' }],
          finishReason: { unified: 'tool-calls', raw: undefined },
          usage,
          warnings: [],
        },
        {
          content: [{ type: 'text', text: 'Done.' }],
          finishReason: { unified: 'stop', raw: undefined },
          usage,
          warnings: [],
        },
      ],
    });
    const tooling = { tools: toolset.forAiSdk(jsonSchema), stopWhen: isStepCount(2) };
    const { text, steps } = await generateText({ model, prompt: 'Restore the snapshot.', ...tooling });
    const message = model.doGenerateCalls[1]?.prompt.at(-1);
    assert.ok(message?.role === 'tool' && message.content[0]?.type === 'tool-result');
    return {
      text,
      steps,
      transport,
      offered: model.doGenerateCalls[0]?.tools,
      toolResult: message.content[0].output,
    };
  }

  test('the model gets the definitions of the tools', async () => {
    const { offered } = await generate();
    assert.deepEqual(offered, [
      { type: 'function', name: NAME, description: DEFINITION.description, inputSchema: INPUT },
    ]);
  });

  test('the model gets the text of a result, and the application the whole result', async () => {
    const { text, steps, transport, toolResult } = await generate();
    assert.equal(text, 'Done.');
    assert.deepEqual(transport.sent[1], call({ ref: { a: 1 } }));
    assert.deepEqual(toolResult, { type: 'text', value: TEXT });
    assert.deepEqual(steps[0]?.toolResults[0]?.output, RESULT);
  });

  test('a call ends when the AI SDK aborts it', async () => {
    const { toolset } = await tools();
    const { execute } = toolset.forAiSdk(jsonSchema)[NAME]!;
    const { code } = await failure(execute({}, { abortSignal: AbortSignal.abort() }));
    assert.equal(code, 'ABORTED');
  });

  test('the model gets the error of a failed call', async () => {
    assert.deepEqual((await generate(FAILED)).toolResult, { type: 'error-text', value: 'INVALID_REF: no.' });
    const { toolResult } = await generate(rpcError('UNAUTHORIZED', 'policy_denied'));
    assert.equal(toolResult.type, 'error-text');
    assert.match(
      String('value' in toolResult && toolResult.value),
      /UNAUTHORIZED: The call failed\. → Change the call\.$/,
    );
  });
});

describe('for OpenAI', () => {
  test('chat completions get the tools, and their calls are answered', async () => {
    const { toolset, transport } = await tools();
    const { chat } = toolset.forOpenAI();
    const { description } = DEFINITION;
    assert.deepEqual(chat.tools, [
      { type: 'function', function: { name: NAME, description, parameters: INPUT } },
    ]);
    const own = { id: 'call-1', type: 'function', function: { name: NAME, arguments: '{"ref":1}' } };
    const others = [
      { id: 'call-2', type: 'function', function: { name: 'other', arguments: '{}' } },
      { id: 'call-3', type: 'custom', custom: { name: NAME, input: '' } },
    ];
    assert.deepEqual(await chat.answer([own, ...others]), [
      { role: 'tool', tool_call_id: 'call-1', content: TEXT },
    ]);
    assert.deepEqual(transport.sent.slice(1), [call({ ref: 1 })]);
    assert.deepEqual(await chat.answer(undefined), []);
  });

  test('responses get the tools, and their calls are answered', async () => {
    const { toolset, transport } = await tools();
    const { responses } = toolset.forOpenAI();
    const { description } = DEFINITION;
    assert.deepEqual(responses.tools, [
      { type: 'function', name: NAME, description, parameters: INPUT, strict: false },
    ]);
    const output = [
      { type: 'message', content: [] },
      { type: 'function_call', call_id: 'call-1', name: NAME, arguments: '{"ref":1}' },
      { type: 'function_call', call_id: 'call-2', name: 'other', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'call-3', name: NAME, input: '' },
    ];
    assert.deepEqual(await responses.answer(output), [
      { type: 'function_call_output', call_id: 'call-1', output: TEXT },
    ]);
    assert.deepEqual(transport.sent.slice(1), [call({ ref: 1 })]);
  });
});

describe('for Anthropic', () => {
  test('messages get the tools, and their tool uses are answered', async () => {
    const { toolset, transport } = await tools();
    const anthropic = toolset.forAnthropic();
    const { description } = DEFINITION;
    assert.deepEqual(anthropic.tools, [{ name: NAME, description, input_schema: INPUT }]);
    const content = [
      { type: 'text', text: 'I restore the snapshot.' },
      { type: 'tool_use', id: 'use-1', name: NAME, input: { ref: 1 } },
      { type: 'tool_use', id: 'use-2', name: 'other', input: {} },
      { type: 'server_tool_use', id: 'use-3', name: NAME, input: {} },
    ];
    assert.deepEqual(await anthropic.answer(content), [
      { type: 'tool_result', tool_use_id: 'use-1', content: TEXT, is_error: false },
    ]);
    assert.deepEqual(transport.sent.slice(1), [call({ ref: 1 })]);
  });

  test('the result of a failed call is marked as an error', async () => {
    const { toolset } = await tools(FAILED);
    const [result] = await toolset
      .forAnthropic()
      .answer([{ type: 'tool_use', id: 'u', name: NAME, input: {} }]);
    assert.deepEqual([result?.content, result?.is_error], ['INVALID_REF: no.', true]);
  });
});

describe('the calls of one turn', () => {
  const use = (turn: number) => JSON.stringify({ turn });
  const FORMATS: Record<string, (toolset: ModelTools) => Promise<unknown[]>> = {
    'chat completions': (toolset) =>
      toolset
        .forOpenAI()
        .chat.answer(
          [1, 2].map((turn) => ({ id: `${turn}`, function: { name: NAME, arguments: use(turn) } })),
        ),
    responses: (toolset) =>
      toolset.forOpenAI().responses.answer(
        [1, 2].map((turn) => ({
          type: 'function_call',
          call_id: `${turn}`,
          name: NAME,
          arguments: use(turn),
        })),
      ),
    messages: (toolset) =>
      toolset
        .forAnthropic()
        .answer([1, 2].map((turn) => ({ type: 'tool_use', id: `${turn}`, name: NAME, input: { turn } }))),
  };
  for (const [what, answer] of Object.entries(FORMATS)) {
    test(`of ${what} are made one after the other, in their order`, async () => {
      const first = Promise.withResolvers<ToolResult>();
      const { toolset, transport } = await tools(() => first.promise);
      const answers = answer(toolset);
      await setImmediate();
      assert.deepEqual(transport.sent.slice(1), [call({ turn: 1 })]);
      first.resolve(RESULT);
      assert.equal((await answers).length, 2);
      assert.deepEqual(transport.sent.slice(1), [call({ turn: 1 }), call({ turn: 2 }, 'key-2')]);
    });
  }
});
