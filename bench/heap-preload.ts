import { answerHeapQuestions } from './heap.js';

answerHeapQuestions();
