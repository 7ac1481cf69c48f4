/// The reader of model files that a linked module provides, without registration.
///
/// Core does not read model files. The Swift runtime finds out whether a module of the process makes this type conform
/// to ``ModelLocating``.
package enum LinkedModelFiles {
  static let locator = (LinkedModelFiles.self as Any.Type) as? any ModelLocating.Type

  /// The end of an error sentence about a name without a model file.
  static var absence: String {
    locator == nil
      ? "and the program does not link CoherenceModelFiles, which reads models from files"
      : "and the program's resources have no file of that name with the extension xcdatamodeld or xcdatamodel"
  }
}

/// Finds unregistered models by name. At most one module of a process makes ``LinkedModelFiles`` conform.
package protocol ModelLocating: SendableMetatype {
  /// The model of the file with a name; `nil` when the program's resources have no such file.
  static func model(named name: String) throws -> ManagedObjectModel?
}
