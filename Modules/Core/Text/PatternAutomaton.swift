/// A regular expression as a nondeterministic finite automaton (Thompson's construction).
///
/// A match reads the text once. Its time is at most the product of the lengths of text and pattern, for every pattern,
/// where a search by trial and error can take time that doubles with every character.
struct PatternAutomaton: Sendable {
  enum Instruction: Sendable {
    /// Reads one scalar of the set with that index.
    case scalar(Int)
    /// Continues at both instructions.
    case split(Int, Int)
    /// Continues at the instruction.
    case jump(Int)
    /// `^`: passes at the start of the text.
    case textStart
    /// `$`: passes at the end of the text, and before a line terminator there.
    case textEnd
    /// Ends the program: the pattern matches if the text is read to its end.
    case match
  }

  private let program: [Instruction]
  private let sets: [ScalarSet]
  /// For each set, the scalars below U+0080 as two words of bits, so that most scalars need no lookup in the set.
  private let asciiBits: [UInt64]
  private let ignoresCase: Bool

  /// The automaton of a pattern; `nil` for a pattern beyond the regular part of ICU's syntax: literals, `.`, sets, `\d`
  /// `\w` `\s` and their complements, groups, alternatives, quantifiers, `^` and `$`.
  ///
  /// - Parameter ignoresCase: Whether case is ignored. The automaton then covers only patterns and texts of ASCII,
  ///   because case folding of other scalars can change their number.
  init?(_ pattern: String, ignoresCase: Bool) {
    if ignoresCase, !pattern.utf8.allSatisfy({ $0 < 0x80 }) { return nil }
    var parser = PatternParser(pattern)
    guard let node = try? parser.pattern() else { return nil }
    var builder = PatternProgram()
    guard (try? builder.finish(node)) != nil else { return nil }
    program = builder.instructions
    sets = builder.sets
    asciiBits = builder.sets.flatMap { $0.asciiBits(ignoringCase: ignoresCase) }
    self.ignoresCase = ignoresCase
  }

  /// Whether the whole text matches; `nil` for a text that the automaton does not cover.
  func matches(_ text: String) -> Bool? {
    var text = text
    return text.withUTF8 { bytes -> Bool? in
      if ignoresCase, !bytes.allSatisfy({ $0 < 0x80 }) { return nil }
      return run(bytes)
    }
  }

  /// Follows all threads of the automaton together, one scalar at a time. A thread is the index of its next
  /// instruction.
  private func run(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 5 * program.count) { room in
      room.initialize(repeating: 0)
      // The program has an instruction at least.
      return run(text, Memory(of: room.baseAddress!, size: program.count))
    }
  }

  /// The memory of one match, and the part of its state that all threads share.
  ///
  /// Safety of the pointers: they lead into the memory of one match, which outlives the value.
  private struct Memory {
    /// The threads before the present scalar.
    var current: UnsafeMutablePointer<Int>
    /// The threads after the present scalar.
    var next: UnsafeMutablePointer<Int>
    /// The last step in which a thread came to each instruction.
    let visits: UnsafeMutablePointer<Int>
    /// The instructions that a thread still has to follow. Each instruction is followed once in a step and adds two
    /// instructions at most, so that twice the program's length is room enough.
    let stack: UnsafeMutablePointer<Int>
    var step = 1
    /// Whether a thread has come to the end of the program in the present step.
    var isMatch = false

    /// - Parameters:
    ///   - base: Memory for five integers per instruction, all of them 0.
    ///   - size: The number of instructions.
    @inline(__always) init(of base: UnsafeMutablePointer<Int>, size: Int) {
      current = base
      next = base + size
      visits = base + 2 * size
      stack = base + 3 * size
    }
  }

  /// As ``run(_:)``, with the memory for the match.
  private func run(_ text: UnsafeBufferPointer<UInt8>, _ initial: Memory) -> Bool {
    var memory = initial
    var count = 0
    var index = 0
    add(0, to: memory.current, &count, at: 0, of: text, &memory)
    while index < text.count {
      if count == 0 { return false }
      let (scalar, end) = Self.scalar(in: text, at: index)
      memory.step += 1
      memory.isMatch = false
      var nextCount = 0
      for thread in 0..<count {
        let instruction = memory.current[thread]
        if case .scalar(let set) = program[instruction], contains(scalar, set) {
          add(instruction + 1, to: memory.next, &nextCount, at: end, of: text, &memory)
        }
      }
      (memory.current, memory.next) = (memory.next, memory.current)
      count = nextCount
      index = end
    }
    return memory.isMatch
  }

  /// Adds a thread, and all threads that it reaches without reading a scalar.
  @inline(__always)
  private func add(
    _ start: Int, to threads: UnsafeMutablePointer<Int>, _ count: inout Int, at index: Int,
    of text: UnsafeBufferPointer<UInt8>, _ memory: inout Memory
  ) {
    memory.stack[0] = start
    var depth = 1
    while depth > 0 {
      depth -= 1
      let instruction = memory.stack[depth]
      if memory.visits[instruction] == memory.step { continue }
      memory.visits[instruction] = memory.step
      var target: Int?
      switch program[instruction] {
      case .scalar:
        threads[count] = instruction
        count += 1
      case .split(let first, let second):
        memory.stack[depth] = first
        depth += 1
        target = second
      case .jump(let destination): target = destination
      case .textStart: target = index == 0 ? instruction + 1 : nil
      case .textEnd: target = Self.isEnd(index, of: text) ? instruction + 1 : nil
      case .match: memory.isMatch = true
      }
      if let target {
        memory.stack[depth] = target
        depth += 1
      }
    }
  }

  @inline(__always) private func contains(_ scalar: UInt32, _ set: Int) -> Bool {
    if scalar < 0x80 { return asciiBits[2 * set + Int(scalar >> 6)] >> UInt64(scalar & 63) & 1 != 0 }
    return sets[set].contains(scalar)
  }

  /// The scalar that begins at an index of valid UTF-8, and the index after it.
  @inline(__always)
  private static func scalar(in text: UnsafeBufferPointer<UInt8>, at index: Int) -> (scalar: UInt32, end: Int) {
    func tail(_ offset: Int) -> UInt32 { UInt32(text[index + offset] & 0x3F) }
    let first = UInt32(text[index])
    if first < 0x80 { return (first, index + 1) }
    if first < 0xE0 { return ((first & 0x1F) << 6 | tail(1), index + 2) }
    if first < 0xF0 { return ((first & 0x0F) << 12 | tail(1) << 6 | tail(2), index + 3) }
    return ((first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), index + 4)
  }

  /// Whether `$` passes: at the end, and before the line terminator that ends the text. CR LF is one terminator.
  private static func isEnd(_ index: Int, of text: UnsafeBufferPointer<UInt8>) -> Bool {
    if index == text.count { return true }
    let (scalar, end) = scalar(in: text, at: index)
    if end == text.count {
      let isSecondOfTwo = scalar == 0x0A && index > 0 && text[index - 1] == 0x0D
      return ScalarSet.isLineTerminator(scalar) && !isSecondOfTwo
    }
    return scalar == 0x0D && text[end] == 0x0A && end + 1 == text.count
  }
}

/// A compiler of pattern nodes to a program.
struct PatternProgram {
  private(set) var instructions: [PatternAutomaton.Instruction] = []
  private(set) var sets: [ScalarSet] = []
  /// The number of emitted nodes.
  private var nodeCount = 0

  /// The greatest length of a program. Longer programs, which counted repetitions can produce, are left to ICU.
  private static let greatestLength = 1_000

  /// Emits the instructions of a whole pattern.
  mutating func finish(_ node: PatternNode) throws {
    try emit(node)
    _ = try append(.match)
  }

  /// Appends an instruction, and returns its index.
  private mutating func append(_ instruction: PatternAutomaton.Instruction) throws -> Int {
    guard instructions.count < Self.greatestLength else { throw PatternParser.NotCovered() }
    instructions.append(instruction)
    return instructions.count - 1
  }

  private mutating func emit(_ node: PatternNode) throws {
    // Counts nodes that emit no instruction too, because they may be repeated without end.
    nodeCount += 1
    guard nodeCount < 100 * Self.greatestLength else { throw PatternParser.NotCovered() }
    switch node {
    case .sequence(let nodes):
      for node in nodes { try emit(node) }
    case .alternatives(let nodes):
      try emitAlternatives(nodes)
    case .repetition(let node, let minimum, let maximum):
      for _ in 0..<minimum { try emit(node) }
      try emitOptions(node, count: maximum.map { $0 - minimum })
    case .scalar(let set):
      sets.append(set)
      _ = try append(.scalar(sets.count - 1))
    case .textStart: _ = try append(.textStart)
    case .textEnd: _ = try append(.textEnd)
    }
  }

  /// Emits nodes of which one occurs. `.match` keeps the place of a split or a jump until its target is known.
  private mutating func emitAlternatives(_ nodes: [PatternNode]) throws {
    var jumps: [Int] = []
    for node in nodes.dropLast() {
      let split = try append(.match)
      try emit(node)
      jumps.append(try append(.match))
      instructions[split] = .split(split + 1, instructions.count)
    }
    try emit(nodes[nodes.count - 1])
    for jump in jumps { instructions[jump] = .jump(instructions.count) }
  }

  /// Emits a node that occurs up to a number of times; `nil` for any number of times.
  private mutating func emitOptions(_ node: PatternNode, count: Int?) throws {
    guard let count else {
      let split = try append(.match)
      try emit(node)
      _ = try append(.jump(split))
      instructions[split] = .split(split + 1, instructions.count)
      return
    }
    var splits: [Int] = []
    for _ in 0..<count {
      splits.append(try append(.match))
      try emit(node)
    }
    for split in splits { instructions[split] = .split(split + 1, instructions.count) }
  }
}
