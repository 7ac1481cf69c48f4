/// The reader of model files that a linked module provides, without registration.
///
/// Core reads no files of models. It asks the Swift runtime whether any module of the process makes this type conform to
/// ``ModelLocating``.
package enum LinkedModelFiles {
  static let locator = (LinkedModelFiles.self as Any.Type) as? any ModelLocating.Type

  /// The end of a sentence about a name for which no file was found.
  static var absence: String {
    locator == nil
      ? "and the program does not link CoherenceModelFiles, which reads models from files"
      : "and the program's resources have no file of that name with the extension xcdatamodeld or xcdatamodel"
  }
}

/// Finds models by name outside of the registered ones. At most one module of a process makes ``LinkedModelFiles``
/// conform.
package protocol ModelLocating: SendableMetatype {
  /// The model of the file with a name; `nil` when the program's resources have no such file.
  static func model(named name: String) throws -> ManagedObjectModel?
}
