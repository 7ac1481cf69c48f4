/// The choices of a run of the generator.
public struct CodeOptions: Sendable, Hashable {
  /// The form of the classes.
  public var style: CodeStyle
  /// The access level of the classes and their members.
  public var access: CodeAccess

  /// Makes options; without arguments whole classes of the module.
  public init(style: CodeStyle = .class, access: CodeAccess = .internal) {
    self.style = style
    self.access = access
  }
}

/// The form of generated classes.
///
/// An extension is no form: macros add accessors to the variables of a class itself, and neither a class property that
/// subentities override nor an override of a method can stand in an extension.
public enum CodeStyle: String, Sendable, Hashable, CaseIterable {
  /// A whole class for each entity, in `Track.swift`. Methods of the program stand in extensions, in other files.
  case `class`
  /// A base class for each entity, in `TrackBase.swift`, and a class that inherits from it, in `Track.swift`. The
  /// second file is written once and belongs to the program, which adds stored variables, overrides and methods.
  case base
}

/// The access level of generated declarations.
public enum CodeAccess: String, Sendable, Hashable, CaseIterable {
  case `internal`
  case `package`
  case `public`

  /// The modifier with a trailing space; empty for the level that Swift takes without a modifier.
  var prefix: String { self == .internal ? "" : "\(rawValue) " }
}
