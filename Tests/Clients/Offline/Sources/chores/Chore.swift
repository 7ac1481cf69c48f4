import Coherence
import CoherenceModelMacros
import Foundation

@Entity final class Chore: ManagedObject {
  @Attribute(.unique) var id = UUID()
  var title: String
  var room = ""
  /// The server's count of changes; 0 before the first answer of the server.
  var revision = 0
}
