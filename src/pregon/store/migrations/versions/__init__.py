"""One file a step, named by its revision. A step that was released is never edited: another one follows it."""
