import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: RelationshipDeriving {
  /// The new rows of the owners whose derived values a statement changed.
  ///
  /// - Throws: ``ErrorCode/arithmeticOverflow``, and errors of the connection.
  func receiveDerived(_ update: DerivationUpdate, on connection: PostgreSQLConnection) throws -> [Row] {
    do {
      return try rowQueries.query(for: update.entity.root).decoder.rows(try connection.receive())
    } catch let error as CoherenceError {
      guard error.serverFailure?.isOutOfRange == true else { throw error }
      throw update.overflow
    }
  }
}
