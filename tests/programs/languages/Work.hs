-- SPDX-License-Identifier: Apache-2.0
-- See language.sh. GHC has a timer a millisecond, and calls back into Haskell on threads that it does not know.
module Main where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.IORef
import Foreign
import Foreign.C
import System.Exit
import System.Mem

foreign import ccall safe "work" work :: CInt -> FunPtr (Ptr () -> IO ()) -> IO CInt
foreign import ccall safe "wild" wild :: IO CInt
foreign import ccall "wrapper" callback :: (Ptr () -> IO ()) -> IO (FunPtr (Ptr () -> IO ()))

main :: IO ()
main = do
  calls <- newIORef (0 :: Int)
  called <- callback $ \p -> do
    s <- evaluate (sum [1 .. 2000 + p `minusPtr` nullPtr])
    when (s > 0) $ atomicModifyIORef' calls (\n -> (n + 1, ()))
  ends <- forM [1 .. 8 :: Int] $ \_ -> do
    end <- newEmptyMVar
    _ <- forkOS $ do
      results <- forM [1 .. 10 :: Int] $ \_ -> work 5 called <* performGC
      putMVar end (length (filter (/= 0) results))
    return end
  wrong <- sum <$> mapM takeMVar ends
  fault <- wild
  n <- readIORef calls
  putStrLn ("calls " ++ show n ++ " wrong " ++ show wrong ++ " wild " ++ show fault)
  unless (n == 400 && wrong == 0 && fault == 700) $ exitWith (ExitFailure 1)
