/// A declared property without stored values, such as a ``FetchedProperty``. The model checks the declaration and keeps
/// it with its entity.
protocol ComputedPropertyDeclaration: PropertyDeclaration {
  /// Sentences about the problems of the declaration.
  ///
  /// - Parameter entities: The entities of the model by name.
  func problems(in owner: Entity, among entities: [String: Entity]) -> [String]
}
