import CoherenceCore
import Testing

/// Typed accessors whose value type has an initializer that uses the object.
@Suite struct InterruptedAccessorTests {
  /// A text whose initializer runs a block of a test before it reads the text.
  private struct InterruptedText: AttributeConvertible {
    // Safety of `nonisolated(unsafe)`: one test uses the type, on one thread at a time.
    nonisolated(unsafe) static var interrupt: () throws -> Void = {}

    let text: String

    static var attributeType: AttributeType { .string }
    static var attributeDefault: InterruptedText { InterruptedText(text: "") }
    var attributeValue: AttributeValue { .string(text) }

    init(text: String) { self.text = text }

    init?(attributeValue: AttributeValue) {
      do { try Self.interrupt() } catch { Issue.record(error) }
      guard case .string(let text) = attributeValue else { return nil }
      self.text = text
    }
  }

  /// Long texts, which have memory of their own.
  private static func text(_ character: Character) -> String { String(repeating: character, count: 100) }

  private var interrupts: [(ManagedObject, ManagedObjectContext) throws -> Void] {
    [
      { note, _ in try note.setValue(Self.text("c"), for: "text") },
      { note, context in context.refresh(note, mergeChanges: false) },
      { note, context in
        context.delete(note)
        try context.save()
      },
      { _, context in context.rollback() },
      { _, context in context.reset() },
    ]
  }

  @Test func `an accessor returns the value of its call, whatever its type's initializer does to the object`() throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("text", .string) } }
    let coordinator = try PersistentStoreCoordinator(inMemory: model)
    let context = ManagedObjectContext(coordinator: coordinator)
    let key = AttributeKey<InterruptedText>("text")
    for isEdited in [false, true] {
      for interrupt in interrupts {
        try context.performAndWait { () throws in
          let note = try context.insertNewObject(forEntityName: "Note")
          try note.setValue(Self.text("a"), for: "text")
          try context.save()
          if isEdited { try note.setValue(Self.text("b"), for: "text") }
          InterruptedText.interrupt = { try interrupt(note, context) }
          let read = note[key].text
          InterruptedText.interrupt = {}
          #expect(read == Self.text(isEdited ? "b" : "a"))
        }
      }
    }
  }
}
