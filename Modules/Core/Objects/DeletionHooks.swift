/// The deletion hooks that a class of objects overrides, as declared by the class.
///
/// A cascade deletes records without making objects if their class has no hook to call. Swift has no way to find the
/// overrides of a class at run time, so that a class declares them. A class without its own declaration counts as a
/// class with all hooks; an inherited declaration does not count. The macros `@Entity` and `@Subentity` write the
/// declaration; a handwritten class overrides ``ManagedObject/deletionHooks``:
///
/// ```swift
/// final class Track: ManagedObject {
///   override class var deletionHooks: DeletionHooks { DeletionHooks(of: Track.self, overriding: []) }
/// }
/// ```
public struct DeletionHooks: Sendable {
  /// A set of the hooks that a delete calls.
  public struct Hooks: OptionSet, Sendable {
    /// The bits of the hooks.
    public let rawValue: UInt8
    /// Makes a set of bits.
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
  ///   - subject: The declaring class by its name. Do not write `Self.self`, which is another class in a subclass.
  ///   - overrides: The hooks that the class itself overrides, without the hooks of its ancestors. For records that a
  ///     cascade deletes, hooks outside of this set are only called if the context already has an object.
  public init(of subject: ManagedObject.Type, overriding overrides: Hooks) {
    self.subject = subject
    self.overrides = overrides
  }

  /// The hooks that a class and its ancestors override; all hooks if the class or an ancestor has no declaration of its
  /// own.
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
