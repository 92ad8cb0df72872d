import { show } from './answer.js';
import type { Answer } from './answer.js';
import type { Expectation, PlainExpectation } from './case-schema.js';

/** One line each: the expectation, what was expected, what came instead. */
export type Failures = readonly string[];

/** Judges one answer by all fields that speak of answers. Another HTTP status than 200 is judged by that alone. */
export function judgeAnswer(expect: Expectation, answer: Answer): Failures {
  const http = expect.http ?? [200];
  if (!http.includes(answer.http))
    return [`http: expected ${http.join(' or ')}, got ${answer.http} ${quote(answer.text)}`];
  if (answer.http !== 200) return [];
  return [
    ...judgePlain(expect, answer),
    ...conditional(expect, answer.verdict).flatMap((more) => judgePlain(more, answer)),
  ];
}

/** The fields that count only for the verdict which came. */
export function conditional(expect: Expectation, verdict: Answer['verdict']): readonly PlainExpectation[] {
  if (verdict === 'allowed') return expect.ifAllowed === undefined ? [] : [expect.ifAllowed];
  if (verdict === 'denied') return expect.ifDenied === undefined ? [] : [expect.ifDenied];
  return [];
}

function judgePlain(expect: PlainExpectation, answer: Answer): Failures {
  return [
    ...judgeVerdict(expect, answer),
    ...judgeWords(expect, answer),
    ...judgeWork(expect, answer),
    ...judgeForm(expect, answer),
  ];
}

function judgeVerdict({ verdict, code, uid }: PlainExpectation, answer: Answer): string[] {
  const failures: string[] = [];
  const came = `${answer.verdict ?? 'no verdict'} (code ${answer.code}) ${show(answer.message)}`;
  if (verdict !== undefined && (answer.verdict === undefined || !verdict.includes(answer.verdict))) {
    failures.push(`verdict: expected ${verdict.join(' or ')}, got ${came}`);
  }
  if (code !== undefined && (answer.code === undefined || !code.includes(answer.code))) {
    failures.push(`code: expected ${code.join(' or ')}, got ${came}`);
  }
  if (uid !== undefined && answer.uid !== uid) failures.push(`uid: expected ${uid}, got ${show(answer.uid)}`);
  return failures;
}

function judgeWords(expect: PlainExpectation, answer: Answer): string[] {
  const message = answer.message;
  const says = [message, ...answer.warnings];
  return [
    ...contains('messageContains', expect.messageContains, [message]),
    ...lacks('messageLacks', expect.messageLacks, [message]),
    ...contains('warningsContain', expect.warningsContain, answer.warnings),
    ...lacks('warningsLack', expect.warningsLack, answer.warnings),
    ...contains('saysContain', expect.saysContain, says),
  ];
}

/** Each word has to occur in some of the texts, without regard to case. */
export function contains(name: string, words: readonly string[] | undefined, texts: readonly string[]): string[] {
  const missing = (words ?? []).filter((word) => !occurs(word, texts));
  return missing.map((word) => `${name}: expected ${show(word)} in ${showTexts(texts)}`);
}

export function lacks(name: string, words: readonly string[] | undefined, texts: readonly string[]): string[] {
  const there = (words ?? []).filter((word) => occurs(word, texts));
  return there.map((word) => `${name}: expected no ${show(word)} in ${showTexts(texts)}`);
}

function occurs(word: string, texts: readonly string[]): boolean {
  const wanted = word.toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

function judgeWork(expect: PlainExpectation, answer: Answer): string[] {
  const failures: string[] = [];
  const { checkerRuns, executedAtMost, answeredWithinSeconds } = expect;
  if (checkerRuns !== undefined && (answer.checkerRuns === undefined || !checkerRuns.includes(answer.checkerRuns))) {
    failures.push(`checkerRuns: expected ${checkerRuns.join(' or ')}, got ${answer.checkerRuns ?? 'no figure'}`);
  }
  if (executedAtMost !== undefined && !(answer.executed !== undefined && answer.executed <= executedAtMost)) {
    failures.push(`executedAtMost: expected at most ${executedAtMost}, got ${answer.executed ?? 'no figure'}`);
  }
  if (answeredWithinSeconds !== undefined && answer.seconds > answeredWithinSeconds) {
    failures.push(`answeredWithinSeconds: expected ${answeredWithinSeconds}, got ${answer.seconds.toFixed(2)}`);
  }
  return failures;
}

function judgeForm(expect: PlainExpectation, answer: Answer): string[] {
  const failures: string[] = [];
  const { retryAfter, messageAtMostCharacters } = expect;
  const told = answer.retryAfterSeconds;
  // Offline there is no caller to tell.
  if (retryAfter !== undefined && answer.through === 'https' && retryAfter !== (told !== undefined && told >= 1)) {
    failures.push(`retryAfter: expected ${retryAfter}, got retryAfterSeconds ${show(told)}`);
  }
  const length = [...answer.message].length;
  if (messageAtMostCharacters !== undefined && length > messageAtMostCharacters) {
    failures.push(`messageAtMostCharacters: expected at most ${messageAtMostCharacters}, got ${length}`);
  }
  return failures;
}

export interface RenderedText {
  readonly output: string;
  /** What checkers got to see; empty in a case where that does not count. */
  readonly seen: string;
}

/** Judges the rendered files by the output fields. */
export function judgeOutput(expect: PlainExpectation, rendered: RenderedText): Failures {
  const { output, seen } = rendered;
  const missing = (expect.outputContains ?? []).filter((word) => !output.includes(word));
  return [
    ...missing.map((word) => `outputContains: expected ${show(word)} in the rendered files`),
    ...judgeLack('the rendered files', expect, output),
    ...judgeLack('what the checker got to see', expect, seen),
  ];
}

function judgeLack(where: string, { outputLacks = [], outputLacksPattern = [] }: PlainExpectation, text: string) {
  const words = outputLacks.filter((word) => text.includes(word));
  const matches = outputLacksPattern.map((pattern) => new RegExp(pattern, 'mu').exec(text)?.[0]);
  return [
    ...words.map((word) => `outputLacks: expected no ${show(word)} in ${where}, got ${show(lineWith(text, word))}`),
    ...matches.flatMap((match) => (match === undefined ? [] : `outputLacksPattern: ${where} has ${show(match)}`)),
  ];
}

/** Judges every answer of a case by what the end of the case says of answers. */
export function judgeEveryAnswer(expect: Expectation, answers: readonly Answer[]): Failures {
  return answers.flatMap((answer, index) => {
    // A default is no expectation: what a review itself expects of the status was judged there.
    const failures = judgeAnswer({ ...expect, http: expect.http ?? [answer.http] }, answer);
    return failures.map((failure) => `every answer, here of review ${index + 1}: ${failure}`);
  });
}

/** The fields that speak of all answers together; `checkerRuns` as counted, or Infinity when nobody did. */
export function judgeTotals(expect: PlainExpectation, answers: readonly Answer[], checkerRuns: number): Failures {
  const warnings = answers.flatMap((answer) => answer.warnings);
  const limit = expect.checkerRunsTotalAtMost;
  // A run that reviews share counts for each of them, so both figures are upper bounds.
  const told = answers.reduce((sum, answer) => sum + (answer.checkerRuns ?? Infinity), 0);
  const runs = Math.min(told, checkerRuns);
  return [
    ...contains('anyWarningContains', expect.anyWarningContains, warnings),
    ...(limit !== undefined && runs > limit ? [`checkerRunsTotalAtMost: expected at most ${limit}, got ${runs}`] : []),
  ];
}

/** Whether any output field is set: only then it has to be rendered. */
export function asksForOutput(expect: PlainExpectation): boolean {
  return (
    expect.outputContains !== undefined || expect.outputLacks !== undefined || expect.outputLacksPattern !== undefined
  );
}

function lineWith(text: string, word: string): string {
  const at = text.indexOf(word);
  const start = text.lastIndexOf('\n', at) + 1;
  const end = text.indexOf('\n', at);
  return text.slice(start, end === -1 ? undefined : end);
}

function showTexts(texts: readonly string[]): string {
  return texts.length === 0 ? 'nothing (there is none)' : texts.map(show).join(' | ');
}

function quote(text: string): string {
  return text === '' ? '' : show(text);
}
