import CoherenceCore
import Synchronization

/// A model of objects that record the calls of their hooks.
enum Journals {
  static let model = soundModel {
    Entity("Journal", class: HookedObject.self) {
      Attribute("name", .string)
      Relationship("pages", toMany: "Page", inverse: "journal", deleteRule: .cascade)
    }
    Entity("Page", class: HookedPage.self) {
      Attribute("name", .string)
      Relationship("journal", toOne: "Journal", inverse: "pages")
    }
  }
}

/// The calls of hooks, in their order: the hook and the name of the object.
final class HookLog: Sendable {
  /// A program that a case runs in each hook. A structure, as ``Draft/Act`` is.
  struct Act: Sendable {
    let run: @Sendable (_ hook: String, HookedObject) throws -> Void
  }

  @TaskLocal static var current: HookLog?
  @TaskLocal static var act: Act?

  private let calls = Mutex<[String]>([])

  func note(_ call: String) { calls.withLock { $0.append(call) } }

  /// Returns the calls so far, and forgets them.
  func take() -> [String] {
    calls.withLock { calls in
      defer { calls = [] }
      return calls
    }
  }

  /// Runs a block whose hooks are recorded.
  static func recording(
    act: (@Sendable (_ hook: String, HookedObject) throws -> Void)? = nil, _ body: (HookLog) throws -> Void
  ) throws {
    let log = HookLog()
    try $act.withValue(act.map { Act(run: $0) }) { try $current.withValue(log) { try body(log) } }
  }
}

/// An object that records the calls of its hooks. No "bad" is saved, and no "kept" is deleted.
class HookedObject: ManagedObject {
  struct Refusal: Error, CustomStringConvertible {
    let description = "the name is refused"
  }

  /// The name that a hook saw last.
  private var known = ""

  final func note(_ hook: String) throws {
    if managedObjectContext != nil, !isFault { known = (try? value(for: "name", as: String?.self)) ?? "" }
    HookLog.current?.note("\(hook) \(known)")
    try HookLog.act?.run(hook, self)
  }

  private final func refuse(_ name: String) throws { if known == name { throw Refusal() } }

  override func awakeFromInsert() { try? note("awakeFromInsert") }
  override func awakeFromFetch() { try? note("awakeFromFetch") }
  override func willSave() { try? note("willSave") }
  override func didSave() { try? note("didSave") }
  override func prepareForDeletion() { try? note("prepareForDeletion") }
  override func willTurnIntoFault() { try? note("willTurnIntoFault") }
  override func didTurnIntoFault() { try? note("didTurnIntoFault") }

  override func validateForInsert() throws { try note("validateForInsert") }

  override func validateForUpdate() throws {
    try note("validateForUpdate")
    try refuse("bad")
  }

  override func validateForDelete() throws {
    try note("validateForDelete")
    try refuse("kept")
  }
}

/// A page, with a rule for its name.
final class HookedPage: HookedObject, PropertyValidating {
  func validate(_ value: AttributeValue, for property: PropertyDescription) throws {
    try note("validate(\(property.name))")
    if property.name == "name", value == .string("bad") { throw Refusal() }
  }
}
