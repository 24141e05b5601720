package lakehouse.connect

import java.net.InetSocketAddress

import org.sparkproject.connect.grpc._

/** Refuses every call that does not come from this machine: Spark Connect 3.5 listens on every interface. */
class LoopbackOnly extends ServerInterceptor {
  override def interceptCall[ReqT, RespT](
      call: ServerCall[ReqT, RespT],
      headers: Metadata,
      next: ServerCallHandler[ReqT, RespT]): ServerCall.Listener[ReqT] =
    call.getAttributes.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) match {
      case address: InetSocketAddress if address.getAddress.isLoopbackAddress => next.startCall(call, headers)
      case _ =>
        call.close(Status.PERMISSION_DENIED.withDescription("this server is for its own machine"), new Metadata())
        new ServerCall.Listener[ReqT] {}
    }
}
