/// The hooks of deletes that a class of objects overrides, as the class declares them.
///
/// A cascade makes no objects of the records that it deletes if their class has no hook to call. A Swift program cannot
/// ask a class for its overrides, so a class declares them. A class without a declaration counts as a class with all of
/// the hooks, and so does a subclass that declares nothing: an inherited declaration is about another class. The macros
/// `@Entity` and `@Subentity` write the declaration; a handwritten class overrides ``ManagedObject/deletionHooks``:
///
/// ```swift
/// final class Track: ManagedObject {
///   override class var deletionHooks: DeletionHooks { DeletionHooks(of: Track.self, overriding: []) }
/// }
/// ```
public struct DeletionHooks: Sendable {
  /// Hooks that a delete calls.
  public struct Hooks: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// ``ManagedObject/prepareForDeletion()``.
    public static let prepareForDeletion = Hooks(rawValue: 1)
    /// ``ManagedObject/validateForDelete()``.
    public static let validateForDelete = Hooks(rawValue: 2)
    /// ``ManagedObject/didSave()``.
    public static let didSave = Hooks(rawValue: 4)
    /// All hooks that a delete calls.
    public static let all: Hooks = [.prepareForDeletion, .validateForDelete, .didSave]
  }

  private let subject: ManagedObject.Type
  private let overrides: Hooks

  /// Declares the overrides of a class.
  ///
  /// - Parameters:
  ///   - subject: The class itself, by name: never `Self.self`, which names another class in a subclass.
  ///   - overrides: The hooks that the class itself overrides; its ancestors declare theirs. A hook that is left out is
  ///     not called for records that a cascade deletes, unless the context has an object of the record already.
  public init(of subject: ManagedObject.Type, overriding overrides: Hooks) {
    self.subject = subject
    self.overrides = overrides
  }

  /// The hooks that a class and its ancestors override, as far as they declare them; all hooks if the class or an
  /// ancestor has no declaration of its own.
  static func hooks(of type: ManagedObject.Type) -> Hooks {
    var hooks: Hooks = []
    var current = type
    while current != ManagedObject.self {
      let declared = current.deletionHooks
      guard declared.subject == current, let ancestor = _getSuperclass(current) as? ManagedObject.Type else {
        return .all
      }
      hooks.formUnion(declared.overrides)
      current = ancestor
    }
    return hooks
  }
}
