import CoherenceCore
import CoherenceStrategies
import Foundation
import TestRandom
import TestSupport
import Testing

/// Random changes, saves, undos and redos, compared with the graphs before and after each group.
@Suite(.timeLimit(.minutes(15))) struct UndoModelTests {
  @Test(arguments: Backend.available, SeededRandom.seeds)
  func `each undo shows the graph before its group, and each redo the graph after it`(
    _ backend: Backend, seed: UInt64
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    var run = UndoRun(stack, SeededRandom(seed: seed))
    for _ in 0..<60 { try run.step("COHERENCE_SEED=\(seed)") }
    try stack.save()
    let (stored, shown) = (try stack.storedGraph(), try stack.graph())
    #expect(stored.lines == shown.lines, "COHERENCE_SEED=\(seed)")
  }
}

private struct UndoRun {
  private let stack: UndoLibrary.Stack
  private var random: SeededRandom
  /// The graph before the first group, and after each one.
  private var graphs: [Graph]
  /// The number of groups to undo.
  private var position = 0
  private var lastKey = 0

  init(_ stack: UndoLibrary.Stack, _ random: SeededRandom) {
    self.stack = stack
    self.random = random
    graphs = (try? stack.graph()).map { [$0] } ?? []
  }

  mutating func step(_ comment: Comment) throws {
    let before = try stack.graph()
    let choice = random.next(below: 10)
    switch choice {
    case 0: try stack.save()
    case 1..<4:
      try stack.undo()
      position = max(0, position - 1)
    case 4, 5:
      try stack.redo()
      position = min(graphs.count - 1, position + 1)
    default: try change()
    }
    let graph = try stack.graph()
    try #require(
      graph.lines == graphs[position].lines,
      "\(comment), kind of step \(choice), from \(before) to \(graph) instead of \(graphs[position])")
  }

  /// Changes the graph at random, in one group.
  private mutating func change() throws {
    let name = "group \(random.next())"
    let count = 1 + random.next(below: 5)
    var random = random
    var lastKey = lastKey
    let isRecorded = try stack.change { context in
      context.undoHistory?.beginGroup(named: name)
      for _ in 0..<count { try Self.changeOne(in: context, &random, &lastKey) }
      context.undoHistory?.endGroup()
      return context.undoHistory?.undoName == name
    }
    (self.random, self.lastKey) = (random, lastKey)
    guard isRecorded else { return }
    graphs = Array(graphs.prefix(position + 1)) + [try stack.graph()]
    position += 1
  }

  private static func changeOne(
    in context: ManagedObjectContext, _ random: inout SeededRandom, _ lastKey: inout Int
  ) throws {
    let entities = UndoLibrary.model.entities.map(\.name).sorted()
    let entity = entities[random.next(below: entities.count)]
    let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    guard !objects.isEmpty, random.next(below: 6) > 0 else {
      lastKey += 1
      try UndoLibrary.insert(entity, lastKey, title: "\(lastKey)", in: context)
      return
    }
    let object = objects[random.next(below: objects.count)]
    let relationships = object.entity.relationships.sorted { $0.name < $1.name }
    let relationship = relationships[random.next(below: relationships.count)]
    let targets = try context.fetch(FetchRequest<ManagedObject>(entityName: relationship.destination.name))
    switch random.next(below: 6) {
    case 0: context.delete(object)
    case 1: try object.setValue("\(random.next(below: 5))", for: "title")
    case _ where relationship.isToMany:
      try object.setObjects(
        targets.shuffled(using: &random).filter { _ in random.isTrue(0.4) }, for: relationship.name)
    default:
      let target = random.isTrue(0.2) ? nil : targets.randomElement(using: &random)
      try object.setObject(target, for: relationship.name)
    }
  }
}
