import CoherenceCore

/// A model of objects that run the code of a case during a save.
enum Drafts {
  static let model = soundModel {
    Entity("Draft", class: Draft.self) {
      Attribute("name", .string)
      Attribute("calls", .int32, default: 0)
      Relationship("list", toOne: "DraftList", inverse: "drafts")
    }
    Entity("DraftList") {
      Attribute("name", .string)
      Relationship("drafts", toMany: "Draft", inverse: "list", ordered: true, deleteRule: .cascade)
    }
  }
}

/// An object that runs the code of a case in its hooks for saves and validation.
final class Draft: ManagedObject {
  /// The code of a case. A structure, because a function as a task-local value ends an optimized build: the compiler
  /// passes no type for it.
  struct Act: Sendable {
    let run: @Sendable (Draft, ManagedObjectContext) throws -> Void
  }

  @TaskLocal static var onSave: Act?
  @TaskLocal static var onValidation: Act?

  override func willSave() {
    guard let context = managedObjectContext else { return }
    do {
      try setValue(value(for: "calls", as: Int.self) + 1, for: "calls")
      try Self.onSave?.run(self, context)
    } catch {
      // The expectations of the case detect the missing effect of code that throws.
    }
  }

  override func validateForInsert() throws { try act() }
  override func validateForUpdate() throws { try act() }

  private func act() throws {
    guard let context = managedObjectContext else { return }
    try Self.onValidation?.run(self, context)
  }
}
