import type { Control } from '../operations.ts';
import { inOrder } from './in-order.ts';
import type { ModelTools } from './model-tools.ts';

/** A block of a message. Those that are no `tool_use` of these tools are nobody's here. */
export interface ContentBlock {
  readonly type: string;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly input?: unknown;
}

/** Tools of the Messages API. */
export interface AnthropicTools {
  readonly tools: {
    name: string;
    description: string;
    input_schema: { type: 'object'; [key: string]: unknown };
  }[];
  /** The `tool_result` blocks for those of the blocks which use these tools, for the next message of the user. */
  answer(
    content: readonly ContentBlock[],
    control?: Control,
  ): Promise<{ type: 'tool_result'; tool_use_id: string; content: string; is_error: boolean }[]>;
}

/** The tools in the form of Anthropic's Messages API. */
export function anthropicTools(toolset: ModelTools): AnthropicTools {
  return {
    tools: toolset.definitions.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: { ...inputSchema, type: 'object' },
    })),
    answer: (content, control) =>
      inOrder(content, async ({ type, id, name, input }) => {
        if (type !== 'tool_use' || typeof id !== 'string') return undefined;
        if (typeof name !== 'string' || !toolset.has(name)) return undefined;
        const { text, isError } = await toolset.answer(name, input, control);
        return { type: 'tool_result', tool_use_id: id, content: text, is_error: isError };
      }),
  };
}
