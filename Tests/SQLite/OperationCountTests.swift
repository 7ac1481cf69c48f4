import CoherenceCore
import TestSupport
import Testing

/// The statements of everyday operations on 1,000 records, which cost the same in every run.
@Suite struct OperationCountTests {
  private let stack: LoggedStore
  private let context: ManagedObjectContext

  private var log: MessageLog { stack.log }

  private final class Word: ManagedObject {
    static let textKey = AttributeKey<String>("text")
    var text: String { self[Self.textKey] }
  }

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Word", class: Word.self) {
        Attribute("number", .int64)
        Attribute("text", .string)
      }
    }
    stack = try LoggedStore(.sqlite, model)
    context = stack.context()
    try stack.write { writer in try Self.insert(1_000, into: writer) }
    log.removeAll()
  }

  private static func insert(_ count: Int, into context: ManagedObjectContext) throws {
    for number in 0..<count {
      let word = try Word(context: context)
      try word.setValue(number, for: "number")
      try word.setValue("word \(number)", for: "text")
    }
  }

  @Test func `fetching 1,000 objects and reading each of them sends one statement`() throws {
    let length = try context.performAndWait {
      try context.fetch(FetchRequest(Word.self)).reduce(0) { $0 + $1.text.count }
    }
    #expect(length == 10 * 6 + 90 * 7 + 900 * 8)
    #expect(log.reads.count == 1, "\(log.reads)")
    #expect(log.runs == [])
  }

  @Test func `a count sends one statement and makes no object`() throws {
    let (count, made) = try context.performAndWait {
      (try context.count(for: FetchRequest(Word.self)), context.registeredObjects.count)
    }
    #expect(count == 1_000 && made == 0)
    #expect(log.reads.count == 1, "\(log.reads)")
  }

  @Test func `a save of 1,000 inserts adds 32 rows with each run of a statement`() throws {
    try context.performAndWait {
      try Self.insert(1_000, into: context)
      try context.save()
    }
    #expect(log.runs == [StatementRun("INSERT", 31), StatementRun("INSERT", 8)])
  }

  @Test func `a save of 1,000 updates prepares one statement and reads nothing`() throws {
    try context.performAndWait {
      let words = try context.fetch(FetchRequest(Word.self))
      log.removeAll()
      for word in words { try word.setValue(word.text + "!", for: "text") }
      try context.save()
    }
    #expect(log.runs == [StatementRun("UPDATE", 1_000)])
    #expect(log.reads == [])
  }

  @Test func `a save of 1,000 deletes of consecutive records runs one statement once and reads nothing`() throws {
    try context.performAndWait {
      let words = try context.fetch(FetchRequest(Word.self))
      log.removeAll()
      for word in words { context.delete(word) }
      try context.save()
    }
    #expect(log.runs == [StatementRun("DELETE", 1)])
    #expect(log.reads == [])
  }

  @Test func `a save after a change of one object among 1,000 runs one statement once`() throws {
    try context.performAndWait {
      let words = try context.fetch(FetchRequest(Word.self))
      log.removeAll()
      try words[500].setValue("changed", for: "text")
      try context.save()
    }
    #expect(log.runs == [StatementRun("UPDATE", 1)])
    #expect(log.reads == [])
  }

  @Test func `a save without changes sends nothing`() throws {
    try context.performAndWait {
      _ = try context.fetch(FetchRequest(Word.self))
      log.removeAll()
      try context.save()
    }
    #expect(log.runs == [] && log.reads == [])
  }
}
